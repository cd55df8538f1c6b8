// Directed checks of when the processor leaves its model. The model here issues an instruction in each second slot. Its
// one other register moves in each slot, or does not.
#include <stdio.h>

#include "engine.h"

#include "core_run.h"

struct Model {
    struct Gates {
        alignas(64) uint8_t bytes[64] = {};
        GatesTable table{};
        uint32_t words[64] = {};

        uint8_t* state() { return bytes; }
        const uint8_t* state() const { return bytes; }
        uint8_t* store() { return bytes; }
        uint32_t* sram() { return words; }
        void read_registers(uint32_t*) const {}
    } gates;
    NicOutputs out{};
    bool moves;

    const NicOutputs& outputs() const { return out; }
    void step_still() {
        uint64_t now;
        memcpy(&now, gates.bytes, sizeof now);
        now++;
        memcpy(gates.bytes, &now, sizeof now);
        gates.bytes[32] ^= moves;
        out.core_issues = now % 2 == 0;
    }
};

static uint64_t outside(bool moves) {
    alignas(64) uint8_t others[64] = {}, quiet[64] = {};
    others[32] = 255;
    Model model;
    model.moves = moves;
    model.gates.table.state_bytes = 64;
    model.gates.table.others = reinterpret_cast<uint64_t>(others);
    model.gates.table.quiet = reinterpret_cast<uint64_t>(quiet);
    model.gates.table.limit = sizeof model.gates.words;
    CoreRun<Model> run;
    for (int i = 0; i < 20; i++) run.begin(model, 1);
    return run.begun;
}

int main() {
    if (!outside(false)) puts("nothing moves, and the processor does not leave");
    if (outside(true)) puts("a register moves in each slot, and the processor leaves");
}
