// The values of a model's members in some slots of recorded inputs. members.h, generated, names the members.
#include "engine.h"
#include "nic.h"

struct Member {
    size_t offset, size;
};
using Root = Vlanai_nic___024root;
static const Member MEMBERS[] = {
#include "members.h"
};

// Every `step`th slot, one row of `out` each.
extern "C" __attribute__((visibility("default"))) void usual_sample(const NicInputs* inputs, uint64_t slots,
                                                                    uint64_t step, const uint32_t* numbers,
                                                                    uint64_t* out) {
    NicGates gates(numbers);
    for (uint64_t slot = 0; slot < slots; slot++) {
        gates.begin(inputs[slot]);
        if (slot % step) continue;
        const char* root = reinterpret_cast<const char*>(gates.model().rootp);
        for (const Member& member : MEMBERS) {
            *out = 0;
            memcpy(out++, root + member.offset, member.size);
        }
    }
}
