/* Linked into programs of the NAS Parallel Benchmarks: at the end rank 0 prints what all ranks have
   sent to others, by remote write and by FIFO, up to each mark between iterations and in all. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

static const char *const NAMES[] = {
    "nic_mbcf_written_bytes", "nic_mbcf_queued_bytes", "nic_mbcf_written", "nic_mbcf_queued",
};
enum { COUNT = sizeof NAMES / sizeof *NAMES, MOST = 64 };

static uint64_t sent[MOST][COUNT];
static double when[MOST];
static int marks;

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

static void read_counters(uint64_t *found)
{
    MPI_T_pvar_session session;
    int level;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_T_pvar_session_create(&session);
    for (int n = 0; n < COUNT; n++)
        found[n] = value(session, NAMES[n]);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
}

/* Called where an iteration ends. */
void lanai_mark_(void)
{
    if (marks == MOST)
        return;
    when[marks] = PMPI_Wtime();
    read_counters(sent[marks++]);
}

int MPI_Finalize(void)
{
    uint64_t mine[COUNT], all[COUNT];
    int rank;
    double now = PMPI_Wtime(), last;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    read_counters(mine);
    for (int mark = 0; mark < marks; mark++) {
        PMPI_Reduce(&when[mark], &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        PMPI_Reduce(sent[mark], all, COUNT, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("mark %.9f", last);
            for (int n = 0; n < COUNT; n++)
                printf(" %llu", (unsigned long long)all[n]);
            printf("\n");
        }
    }
    PMPI_Reduce(mine, all, COUNT, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        for (int n = 0; n < COUNT; n++)
            printf("total %s %llu\n", NAMES[n], (unsigned long long)all[n]);
        printf("total ms %.6f\n", 1e3 * now);
        fflush(stdout);
    }
    return PMPI_Finalize();
}
