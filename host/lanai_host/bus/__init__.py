"""The only way to hardware: `Bus`, and what implements it."""
