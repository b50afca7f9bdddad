"""SQL text in, statements out: tokens, the grammar's statement skeletons, scripts, and the markers for parameters."""
