/* Data that the MPICH ABI exports beside its functions. */

static int lanai_unweighted[1], lanai_weights_empty[1];
int *const MPI_UNWEIGHTED = lanai_unweighted;
int *const MPI_WEIGHTS_EMPTY = lanai_weights_empty;
MPI_Fint *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE; /* Fortran's bindings set these */
MPI_F08_status *MPI_F08_STATUS_IGNORE, *MPI_F08_STATUSES_IGNORE;
struct MPIR_T_pvar_handle_s *const MPI_T_PVAR_ALL_HANDLES = 0;

/* What MPI_COMM_DUP_FN and its kin stand for. */
int MPIR_Dup_fn(MPI_Comm comm, int keyval, void *extra_state, void *value, void *copy, int *flag) {
    (void)comm, (void)keyval, (void)extra_state;
    *flag = 1;
    *(void **)copy = value;
    return MPI_SUCCESS;
}
