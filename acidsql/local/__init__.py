"""Steps that are carried out on the driver alone, without Java."""
