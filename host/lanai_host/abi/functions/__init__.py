"""The MPI functions, by chapter of the standard. Importing a chapter binds its functions (see `binding`)."""
