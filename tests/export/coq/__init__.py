"""Files for Coq."""
