/* The error classes and codes that a program adds: one sequence of numbers from FIRST on, each with a text.

   The functions return whether they have done it. If not, nothing has changed, and Python says what is wrong. Any
   thread may call them on a table. FIRST, MOST_TEXT (bytes of a text with its end) and PREDEFINED (which classes
   there are without these) stand before this text. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CLASS = -1, GONE = -2 };
typedef struct {
    char *text; /* null: empty */
    int of;     /* a code's class; CLASS of a class; GONE once removed */
    int codes;  /* of a class */
} Added;

typedef struct Codes {
    pthread_mutex_t lock;
    Added *added;
    int base, used, room, live; /* `added` begins with number `base` */
} Codes;

/* An empty table; null if memory is short. */
Codes *codes_new(void) {
    Codes *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    pthread_mutex_init(&made->lock, NULL);
    made->base = FIRST;
    return made;
}

static Added *find(Codes *in, int number) {
    int place = number - in->base;
    return number >= in->base && place < in->used && in->added[place].of != GONE ? in->added + place : NULL;
}
static Added *find_class(Codes *in, int number) {
    Added *found = find(in, number);
    return found && found->of == CLASS ? found : NULL;
}

static int add(Codes *to, int of, int *number) {
    if (to->used == to->room) {
        int more = to->room ? 2 * to->room : 64;
        Added *grown = realloc(to->added, more * sizeof *grown);
        if (!grown) return 0;
        to->added = grown, to->room = more;
    }
    to->added[to->used] = (Added){NULL, of, 0};
    to->live++;
    *number = to->base + to->used++;
    return 1;
}

static int drop(Codes *from, Added *one) {
    if (!one || one->text || one->codes) return 0;
    Added *class = find(from, one->of);
    if (class) class->codes--;
    one->of = GONE;
    if (!--from->live) from->base += from->used, from->used = 0; /* numbers are not used twice, and their room is */
    return 1;
}

int codes_add_class(Codes *to, int *made) {
    pthread_mutex_lock(&to->lock);
    int done = add(to, CLASS, made);
    pthread_mutex_unlock(&to->lock);
    return done;
}

int codes_add_code(Codes *to, int of, int *made) {
    int predefined = of >= 0 && of < (int)sizeof PREDEFINED && PREDEFINED[of];
    pthread_mutex_lock(&to->lock);
    int done = (predefined || find_class(to, of)) && add(to, of, made);
    Added *class = done ? find_class(to, of) : NULL;
    if (class) class->codes++;
    pthread_mutex_unlock(&to->lock);
    return done;
}

/* An empty text is none. */
int codes_set_text(Codes *in, int number, const char *text) {
    size_t size = strnlen(text, MOST_TEXT) + 1;
    char *copy = NULL;
    if (size > MOST_TEXT || (size > 1 && !(copy = malloc(size)))) return 0;
    if (copy) memcpy(copy, text, size);
    pthread_mutex_lock(&in->lock);
    Added *one = find(in, number);
    char *old = one ? one->text : copy;
    if (one) one->text = copy;
    pthread_mutex_unlock(&in->lock);
    free(old);
    return one != NULL;
}

int codes_remove_class(Codes *from, int number) {
    pthread_mutex_lock(&from->lock);
    int done = drop(from, find_class(from, number));
    pthread_mutex_unlock(&from->lock);
    return done;
}

int codes_remove_code(Codes *from, int number) {
    pthread_mutex_lock(&from->lock);
    Added *one = find(from, number);
    int done = one && one->of != CLASS && drop(from, one);
    pthread_mutex_unlock(&from->lock);
    return done;
}

/* What is known of a number: -1 if it was not added; else its class (its own number for a class), how many codes it
   has, and its text, for which `text` has MOST_TEXT bytes. */
int codes_look(Codes *in, int number, int *codes, char *text) {
    pthread_mutex_lock(&in->lock);
    Added *one = find(in, number);
    int of = !one ? -1 : one->of == CLASS ? number : one->of;
    *codes = one ? one->codes : 0;
    strcpy(text, one && one->text ? one->text : "");
    pthread_mutex_unlock(&in->lock);
    return of;
}

/* The last number that was given out. */
int codes_last(Codes *in) {
    pthread_mutex_lock(&in->lock);
    int last = in->base + in->used - 1;
    pthread_mutex_unlock(&in->lock);
    return last;
}
