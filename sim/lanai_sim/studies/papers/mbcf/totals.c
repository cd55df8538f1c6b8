/* Linked into programs of the NAS Parallel Benchmarks: at the end rank 0 prints what all ranks have
   sent to others, by remote write and by FIFO. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

static const char *const NAMES[] = {
    "nic_mbcf_written_bytes", "nic_mbcf_queued_bytes", "nic_mbcf_written", "nic_mbcf_queued",
};
enum { COUNT = sizeof NAMES / sizeof *NAMES };

static uint64_t value(MPI_T_pvar_session session, const char *name)
{
    MPI_T_pvar_handle handle;
    int index, count;
    uint64_t found = 0;
    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS)
        return 0; /* this device does not count them */
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    MPI_T_pvar_read(session, handle, &found);
    MPI_T_pvar_handle_free(session, &handle);
    return found;
}

int MPI_Finalize(void)
{
    uint64_t mine[COUNT], all[COUNT];
    MPI_T_pvar_session session;
    int level, rank;
    double now = PMPI_Wtime();
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_T_pvar_session_create(&session);
    for (int n = 0; n < COUNT; n++)
        mine[n] = value(session, NAMES[n]);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    PMPI_Reduce(mine, all, COUNT, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        for (int n = 0; n < COUNT; n++)
            printf("total %s %llu\n", NAMES[n], (unsigned long long)all[n]);
        printf("total ms %.6f\n", 1e3 * now);
        fflush(stdout);
    }
    return PMPI_Finalize();
}
