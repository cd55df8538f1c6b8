// The values of a model's members in evaluations with recorded inputs. members.h, generated, names the members.
#include "engine.h"
#include "nic.h"

struct Member {
    size_t offset, size;
};
using Root = Vlanai_nic___024root;
static const Member MEMBERS[] = {
#include "members.h"
};
constexpr size_t WIDTH = sizeof MEMBERS / sizeof *MEMBERS;
static constexpr int MOMENTS = 4;  // in the order of `Moment`

// Every `step`th evaluation of each moment gives a row, once the traffic has begun.
static uint64_t step, asked[MOMENTS];
static bool begun;
static std::vector<uint64_t> rows[MOMENTS];

// Takes the place of copies for a moment: none is for this evaluation.
static bool sample(const Root* root, int moment) {
    if (!begun || asked[moment]++ % step) return false;
    for (const Member& member : MEMBERS) {
        uint64_t value = 0;
        memcpy(&value, reinterpret_cast<const char*>(root) + member.offset, member.size);
        rows[moment].push_back(value);
    }
    return false;
}
bool Vlanai_nic___024root___specialized_alone(Root* root) { return sample(root, 0); }
bool Vlanai_nic___024root___specialized_own(Root* root) { return sample(root, 1); }
bool Vlanai_nic___024root___specialized_state(Root* root) { return sample(root, 2); }
bool Vlanai_nic___024root___specialized_inputs(Root* root) { return sample(root, 3); }

#define VISIBLE extern "C" __attribute__((visibility("default")))

// Rows are of slots from `first` on.
VISIBLE void samples_take(const NicInputs* inputs, uint64_t slots, uint64_t first, uint64_t every,
                          const uint32_t* numbers) {
    step = every;
    for (int moment = 0; moment < MOMENTS; moment++) {
        asked[moment] = 0;
        rows[moment].clear();
    }
    NicGates gates(numbers);
    for (uint64_t slot = 0; slot < slots; slot++) {
        begun = slot >= first;
        gates.begin(inputs[slot]);
    }
}

// How many rows a moment has; they stand from `first` on.
VISIBLE uint64_t samples_of(uint32_t moment, const uint64_t** first) {
    *first = rows[moment].data();
    return rows[moment].size() / WIDTH;
}
