/* One thread releases a rank again and again, the other looks whether the rank's wait has ended. Prints how often it
   was told that nothing will ever come. */
static atomic_int over;

static void *flip(void *given) {
    rank_state *s = given;
    for (int i = 0; i < 10 * 1000 * 1000; i++) {
        s->state = WAITS;
        s->state = RUNS;
    }
    over = 1;
    return NULL;
}

int main(int count, char **words) {
    int file = open(words[count - 1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 1 << 20)) return 1;
    hub *o = hub_open(file, 1 << 20, 2, 2, 2, 1000, 0, FOREVER);
    rank_state *s = &o->rank_states[0];
    s->clock = 68;
    pthread_t thread;
    if (pthread_create(&thread, NULL, flip, s)) return 1;
    long stops = 0, others = 0;
    while (!over) {
        int64_t answer = hub_look_at_wait(o, 0);
        stops += answer == STOP;
        others += answer != STOP && answer != AGAIN && answer != 68;
    }
    pthread_join(thread, NULL);
    printf("%ld %ld\n", stops, others);
    return 0;
}
