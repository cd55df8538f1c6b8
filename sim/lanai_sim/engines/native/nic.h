// One NIC's model: inputs go in a slot at a time, outputs are read in between.
#pragma once
#include "declared.h"
#include "engine.h"
#include "gates.h"

#include "core_run.h"

// No input asks for anything.
inline bool quiet(const NicInputs& in) { return !in.rx_kind && !in.tx_stop && !in.mem_rvalid && !in.pio_valid; }
constexpr NicInputs NO_INPUTS{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0};
inline bool is_still(const NicInputs& in) { return !memcmp(&in, &NO_INPUTS, sizeof in); }

// `begin` begins a slot: it ends the one before and gives the inputs of the new one. Then the outputs of the new slot
// can be read.
class NicGates {
  public:
    // The model has outputs beside those of `NicOutputs` if it is for traces or waveforms.
    explicit NicGates(const GatesTable& table)
        : gates(table), outputs_(static_cast<NicOutputs*>(allocated(table.outputs_bytes))) {
        memset(outputs_, 0, table.outputs_bytes);
        gates.show(&NO_INPUTS, outputs_);
        if (!table.core) core_.may = false;
    }
    ~NicGates() { free(outputs_); }

    void begin(const NicInputs& inputs) {
        settle();
        gates.step(&inputs, outputs_);
    }

    // `begin` with NO_INPUTS, up to `most` times. Returns how often. If more than once, the outputs are all the time
    // those of the slot before.
    uint32_t begin_still(uint64_t most = 1) {
        return core_.begin(*this, uint32_t(smaller<uint64_t>(most, 1u << 30)));
    }
    void step_still() { gates.step(&NO_INPUTS, outputs_); }

    // The model is in the present slot: whatever is read from it is so.
    void settle() { core_.back(*this); }
    // The model alone does everything.
    void whole(bool is_whole) { core_.may = gates.table.core && !is_whole; }
    uint64_t outside() const { return core_.begun; }

    template <class Direction>
    void state(Direction& way) {
        settle();
        gates.pass_state(way);
        way.bytes_of(outputs_, gates.table.outputs_bytes);
    }

    const NicOutputs& outputs() const { return *outputs_; }
    // Of a model for traces.
    const NicProbes& probes() const {
        return *reinterpret_cast<const NicProbes*>(reinterpret_cast<const char*>(outputs_) + PROBES_AT);
    }

    Gates gates;

  private:
    NicOutputs* outputs_;
    CoreRun<NicGates> core_;
};
