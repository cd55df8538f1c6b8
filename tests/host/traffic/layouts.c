/* Messages between random layouts of bytes, around a ring. Arguments: a seed, and rounds.

   Rank 0 prints a hash of each rank's receive buffer for each message, gaps included. */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST 40000 /* bytes of a message */
#define SPREAD 24     /* a layout spans at most so many times its bytes */
#define ROOM (LARGEST * (SPREAD + 1))
#define MOST_BLOCKS 2048

enum kind { CONTIGUOUS, STRIDED, BACKWARD, GAPS, SHUFFLED, KINDS };

static uint64_t state;

static int below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

/* A type of `count` blocks. It begins at `*begin` bytes into the buffer. */
static MPI_Datatype make(int block, int count, int *begin)
{
    static int lengths[MOST_BLOCKS];
    static MPI_Aint places[MOST_BLOCKS];
    enum kind kind = below(KINDS);
    int grain = block % 4 ? 1 : 4, most = below(4) ? 2 : SPREAD - 1;
    int stride = block + grain * below(most * block / grain);
    MPI_Datatype type;

    *begin = 4 * below(8);
    if (kind == CONTIGUOUS) {
        MPI_Type_contiguous(block * count, MPI_BYTE, &type);
    } else if (kind == STRIDED || kind == BACKWARD) {
        MPI_Type_create_hvector(count, block, kind == BACKWARD ? -stride : stride, MPI_BYTE, &type);
        *begin += kind == BACKWARD ? (count - 1) * stride : 0;
    } else {
        MPI_Aint place = 0;
        for (int n = 0; n < count; n++) {
            lengths[n] = block;
            places[n] = place;
            place += block + grain * below(most * block / grain);
        }
        for (int n = count - 1; kind == SHUFFLED && n > 0; n--) {
            int other = below(n + 1);
            MPI_Aint kept = places[n];
            places[n] = places[other];
            places[other] = kept;
        }
        MPI_Type_create_hindexed(count, lengths, places, MPI_BYTE, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

static uint64_t hash(const unsigned char *bytes, size_t size)
{
    uint64_t found = 14695981039346656037u;
    for (size_t n = 0; n < size; n++)
        found = (found ^ bytes[n]) * 1099511628211u;
    return found;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    state = strtoull(argv[1], NULL, 10);
    unsigned char *mine = malloc(ROOM), *theirs = malloc(ROOM);
    uint64_t *hashes = malloc(sizeof *hashes * (size_t)ranks);
    for (int round = 0; round < atoi(argv[2]); round++) {
        int block = below(4) ? 4 * (1 + below(100)) : 1 + below(100);
        int most = LARGEST / block < MOST_BLOCKS ? LARGEST / block : MOST_BLOCKS;
        int count = 1 + below(most), from, to;
        MPI_Datatype out = make(block, count, &from), in = make(block, count, &to);
        for (int n = 0; n < ROOM; n++)
            mine[n] = (unsigned char)(n * 7 + n / 256 + 31 * rank + round);
        memset(theirs, 0xAA, ROOM);
        MPI_Sendrecv(mine + from, 1, out, (rank + 1) % ranks, round, theirs + to, 1, in, (rank + ranks - 1) % ranks,
                     round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        uint64_t found = hash(theirs, ROOM);
        MPI_Gather(&found, 1, MPI_UINT64_T, hashes, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        for (int n = 0; rank == 0 && n < ranks; n++)
            printf("%d %d %d: %016llx\n", block, count, n, (unsigned long long)hashes[n]);
        MPI_Type_free(&out);
        MPI_Type_free(&in);
    }
    free(mine);
    free(theirs);
    free(hashes);
    MPI_Finalize();
    return 0;
}
