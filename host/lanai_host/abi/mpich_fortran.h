/* What MPICH's Fortran and C++ bindings (libmpichfort.so.12, libmpichcxx.so.12) call beside the MPI functions. mpi.h
   does not declare these. The last parameter of the attribute calls says what the value is: 0 a pointer, 1 an
   address-sized integer, 3 a Fortran integer. */
int MPII_Comm_set_attr(MPI_Comm comm, int keyval, void *attribute_val, int kind);
int MPII_Comm_get_attr(MPI_Comm comm, int keyval, void *attribute_val, int *flag, int kind);
int MPII_Type_set_attr(MPI_Datatype datatype, int keyval, void *attribute_val, int kind);
int MPII_Type_get_attr(MPI_Datatype datatype, int keyval, void *attribute_val, int *flag, int kind);
int MPII_Win_set_attr(MPI_Win win, int keyval, void *attribute_val, int kind);
int MPII_Win_get_attr(MPI_Win win, int keyval, void *attribute_val, int *flag, int kind);
void MPII_Keyval_set_proxy(int keyval, void *copy_proxy, void *delete_proxy);
void MPII_Grequest_set_lang_f77(MPI_Request greq);
void MPII_Op_set_cxx(MPI_Op op, void *call_function);
void MPII_Errhandler_set_cxx(MPI_Errhandler errhandler, void *call_function);
int MPIX_Delete_error_class(int errorclass);
int MPIX_Delete_error_code(int errorcode);
int MPIX_Delete_error_string(int errorcode);
