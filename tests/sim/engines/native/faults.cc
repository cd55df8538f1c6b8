// Which packets a plan of faults hits: faults FIRST COUNT (packet amount chance kind)... prints "number kind" for each.
#include "faults.h"

#include <cstdio>
#include <cstdlib>

int main(int words, char** word) {
    Faults faults;
    for (int i = 3; i + 3 < words; i += 4) {
        auto number = [&](int n) { return strtoull(word[i + n], nullptr, 10); };
        faults.plan.push_back({number(0), number(1), number(2), uint32_t(number(3))});
    }
    uint64_t first = strtoull(word[1], nullptr, 10), count = strtoull(word[2], nullptr, 10);
    for (uint64_t n = first; n < first + count; n++)
        if (const Fault* hit = faults.choose(n)) printf("%llu %u\n", (unsigned long long)n, hit->kind);
}
