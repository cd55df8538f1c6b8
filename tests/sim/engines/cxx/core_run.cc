// Directed checks of when the processor leaves its model. The model here issues an instruction in each second slot. Its
// one other member moves in each slot, or does not.
#include <cstdint>
#include <cstdio>
#include <cstring>

struct Root {
    uint64_t now = 0;
    bool moves;
    alignas(32) unsigned char other[32] = {};
    uint32_t sram[64] = {}, banks[3][32] = {};
};
#include "nic_model.h"

struct NicModel {
    Root* rootp;
    bool wake_armed = false;
    uint32_t wake_cycle = 0;
};
static void tick(NicModel& model) { model.rootp->now++; }

#include "core_run.h"

bool core_slot(Root* root, uint64_t* words, bool given) {
    if (given) return true;
    root->now++;
    root->other[0] ^= root->moves;
    memset(words, 0, CORE_WORDS * sizeof *words);
    words[CORE_NOW] = root->now;
    return true;
}
bool core_issues(const Root* root) { return root->now % 2 == 0; }
void core_leave(Root*) {}
uint64_t core_bytes() { return sizeof Root::other; }
void core_look(const Root* root, char* into) { memcpy(into, root->other, sizeof root->other); }
bool core_same(const Root* root, const char* seen) { return !memcmp(root->other, seen, sizeof root->other); }
bool core_read(const Root*, uint32_t, uint32_t*) { return false; }
void core_arrays(Root* root, uint32_t** arrays) {
    arrays[0] = root->sram;
    for (int i = 0; i < 3; i++) arrays[i + 1] = root->banks[i];
}

static uint64_t outside(bool moves) {
    Root root{};
    root.moves = moves;
    NicModel model{&root};
    CoreRun run;
    for (int i = 0; i < 20; i++) run.begin(model, 1);
    return run.begun;
}

int main() {
    if (!outside(false)) puts("nothing moves, and the processor does not leave");
    if (outside(true)) puts("a member moves in each slot, and the processor leaves");
}
