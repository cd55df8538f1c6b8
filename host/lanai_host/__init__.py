"""The driver, the messaging devices, the MPI library and its C ABI."""
