"""What a queue of compactions must do: what is asked for, leases of workers, their transactions."""
