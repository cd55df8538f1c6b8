/* Point-to-point: modes, completion, probes, cancelling, persistent requests. Ranks 0 and 1 talk; others watch. */
#include "check.h"

enum { N = 8 };
static int rank, size, peer, data[N], back[N];
static MPI_Request request, requests[4];
static MPI_Status status, statuses[4];

static void fill(int start) {
    for (int i = 0; i < N; i++) data[i] = start + i, back[i] = -1;
}

static void arrived(int start, int count) {
    int got;
    OK(MPI_Get_count(&status, MPI_INT, &got));
    CHECK(got == count);
    CHECK(status.MPI_SOURCE == peer);
    for (int i = 0; i < count; i++) CHECK(back[i] == start + i);
}

static void modes(void) {
    char *room = malloc(4096), *given;
    int bytes;
    fill(10 * peer);
    OK(MPI_Buffer_attach(room, 4096));
    if (rank == 0) {
        OK(MPI_Send(data, N, MPI_INT, 1, 1, MPI_COMM_WORLD));
        OK(MPI_Ssend(data, N, MPI_INT, 1, 2, MPI_COMM_WORLD));
        OK(MPI_Bsend(data, N, MPI_INT, 1, 3, MPI_COMM_WORLD));
        OK(MPI_Recv(0, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); /* 1 has posted its receive */
        OK(MPI_Rsend(data, N, MPI_INT, 1, 4, MPI_COMM_WORLD));
    } else {
        for (int tag = 1; tag <= 3; tag++) {
            OK(MPI_Recv(back, N, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status));
            CHECK(status.MPI_TAG == tag);
            arrived(10, N);
        }
        OK(MPI_Irecv(back, N, MPI_INT, 0, 4, MPI_COMM_WORLD, &request));
        OK(MPI_Send(0, 0, MPI_INT, 0, 9, MPI_COMM_WORLD));
        OK(MPI_Wait(&request, &status));
        CHECK(request == MPI_REQUEST_NULL);
        arrived(10, N);
    }
    OK(MPI_Buffer_detach(&given, &bytes));
    CHECK(given == room && bytes == 4096);
    free(room);
}

static void completion(void) {
    int flag, index, count, indices[4], parts[4] = {-1, -1, -1, -1};
    char room[2048];
    void *given;
    fill(0);
    OK(MPI_Buffer_attach(room, sizeof room));
    for (int round = 0; round < 7; round++) {
        if (rank == 0) {
            OK(MPI_Isend(data + 0, 1, MPI_INT, 1, 20, MPI_COMM_WORLD, requests + 0));
            OK(MPI_Issend(data + 1, 1, MPI_INT, 1, 21, MPI_COMM_WORLD, requests + 1));
            OK(MPI_Ibsend(data + 2, 1, MPI_INT, 1, 22, MPI_COMM_WORLD, requests + 2));
            OK(MPI_Recv(0, 0, MPI_INT, 1, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Irsend(data + 3, 1, MPI_INT, 1, 23, MPI_COMM_WORLD, requests + 3));
        } else {
            for (int i = 0; i < 4; i++) {
                parts[i] = -1;
                OK(MPI_Irecv(parts + i, 1, MPI_INT, 0, 20 + i, MPI_COMM_WORLD, requests + i));
            }
            OK(MPI_Send(0, 0, MPI_INT, 0, 30, MPI_COMM_WORLD));
        }
        count = 0;
        switch (round) {
        case 0: OK(MPI_Waitall(4, requests, statuses)); break;
        case 1:
            for (; count < 4; count++) {
                OK(MPI_Waitany(4, requests, &index, &status));
                CHECK(index >= 0 && index < 4);
            }
            break;
        case 2: while (count < 4) { OK(MPI_Waitsome(4, requests, &index, indices, statuses)); count += index; } break;
        case 3: do OK(MPI_Testall(4, requests, &flag, statuses)); while (!flag); break;
        case 4: while (count < 4) { OK(MPI_Testany(4, requests, &index, &flag, &status)); count += flag; } break;
        case 5: while (count < 4) { OK(MPI_Testsome(4, requests, &index, indices, statuses)); count += index; } break;
        case 6: for (int i = 0; i < 4; i++) do OK(MPI_Test(requests + i, &flag, &status)); while (!flag); break;
        }
        for (int i = 0; i < 4; i++) {
            CHECK(requests[i] == MPI_REQUEST_NULL);
            if (rank == 1) CHECK(parts[i] == i);
        }
    }
    OK(MPI_Buffer_detach(&given, &count));
    OK(MPI_Waitany(4, requests, &index, &status));
    CHECK(index == MPI_UNDEFINED);
}

static void probes(void) {
    int flag = 0, got;
    if (rank == 0) {
        fill(5);
        OK(MPI_Send(data, 3, MPI_INT, 1, 40, MPI_COMM_WORLD));
        OK(MPI_Send(data, 5, MPI_INT, 1, 41, MPI_COMM_WORLD));
    } else {
        OK(MPI_Probe(0, 41, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_INT, &got));
        CHECK(got == 5);
        while (!flag) OK(MPI_Iprobe(MPI_ANY_SOURCE, 40, MPI_COMM_WORLD, &flag, &status));
        OK(MPI_Get_count(&status, MPI_INT, &got));
        CHECK(got == 3);
        OK(MPI_Recv(back, 3, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK(status.MPI_TAG == 40);
        OK(MPI_Recv(back, 5, MPI_INT, 0, 41, MPI_COMM_WORLD, &status));
        OK(MPI_Iprobe(MPI_ANY_SOURCE, 40, MPI_COMM_WORLD, &flag, &status));
        CHECK(!flag);
    }
}

static void cancelling(void) {
    int flag;
    OK(MPI_Irecv(back, N, MPI_INT, peer, 50, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
    OK(MPI_Isend(data, 1, MPI_INT, peer, 51, MPI_COMM_WORLD, &request));
    OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Recv(back, 1, MPI_INT, peer, 51, MPI_COMM_WORLD, &status));
}

static void persistent(void) {
    char room[1024];
    void *given;
    int bytes;
    OK(MPI_Buffer_attach(room, sizeof room));
    if (rank == 0) {
        OK(MPI_Send_init(data + 0, 1, MPI_INT, 1, 60, MPI_COMM_WORLD, requests + 0));
        OK(MPI_Ssend_init(data + 1, 1, MPI_INT, 1, 61, MPI_COMM_WORLD, requests + 1));
        OK(MPI_Bsend_init(data + 2, 1, MPI_INT, 1, 62, MPI_COMM_WORLD, requests + 2));
        OK(MPI_Rsend_init(data + 3, 1, MPI_INT, 1, 63, MPI_COMM_WORLD, requests + 3));
    } else {
        for (int i = 0; i < 4; i++) OK(MPI_Recv_init(back + i, 1, MPI_INT, 0, 60 + i, MPI_COMM_WORLD, requests + i));
    }
    for (int round = 0; round < 3; round++) {
        fill(100 * round);
        if (rank == 1) {
            OK(MPI_Startall(4, requests));
            OK(MPI_Send(0, 0, MPI_INT, 0, 69, MPI_COMM_WORLD));
        } else {
            OK(MPI_Recv(0, 0, MPI_INT, 1, 69, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            for (int i = 0; i < 4; i++) OK(MPI_Start(requests + i));
        }
        OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
        if (rank == 1) for (int i = 0; i < 4; i++) CHECK(back[i] == 100 * round + i);
    }
    for (int i = 0; i < 4; i++) {
        CHECK(requests[i] != MPI_REQUEST_NULL);
        OK(MPI_Request_free(requests + i));
    }
    OK(MPI_Buffer_detach(&given, &bytes));
}

static void exchanges(void) {
    fill(10 * rank);
    OK(MPI_Sendrecv(data, N, MPI_INT, peer, 70, back, N, MPI_INT, peer, 70, MPI_COMM_WORLD, &status));
    arrived(10 * peer, N);
    OK(MPI_Sendrecv_replace(data, N, MPI_INT, peer, 71, peer, 71, MPI_COMM_WORLD, &status));
    for (int i = 0; i < N; i++) CHECK(data[i] == 10 * peer + i);
    OK(MPI_Sendrecv(data, N, MPI_INT, MPI_PROC_NULL, 0, back, N, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

int main(int argc, char **argv) {
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    peer = 1 - rank;
    if (rank < 2) {
        modes();
        completion();
        probes();
        cancelling();
        persistent();
        exchanges();
    }
    return finish();
}
