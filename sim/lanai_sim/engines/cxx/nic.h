// One NIC's Verilated model: inputs go in a slot at a time, outputs are read in between. `nic_model.h`, generated, says
// how it was built.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "declared.h"
#include "engine.h"
#include "nic_model.h"
#include "state.h"
#include "tick.h"
#include "zeros.h"

#include "core_run.h"
#include "resting.h"
#include "waiting.h"

// No input asks for anything.
inline bool quiet(const NicInputs& in) { return !in.rx_kind && !in.tx_stop && !in.mem_rvalid && !in.pio_valid; }
constexpr NicInputs NO_INPUTS{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0};
inline bool is_still(const NicInputs& in) { return !std::memcmp(&in, &NO_INPUTS, sizeof in); }

// `begin` begins a slot: it ends the one before and gives the inputs of the new one. Then the outputs of the new slot
// can be read.
class NicGates {
  public:
    explicit NicGates(const uint32_t* numbers)
        : context_(new VerilatedContext), model_(new NicModel(context_.get())) {
        NicModel& m = *model_;
        set_numbers(m, numbers);
#ifdef LANAI_AS_SYNTHESIZED
        m.rst = 1;
#endif
        drive(NO_INPUTS);
        m.clk = 0;
        m.eval();  // the first evaluation sees no edge
        resting_.begin(m);
        trim();
    }

    // Most of an SRAM is zeros, and most NICs of a large machine use little of it.
    void trim() { give_back_zeros(&model_->rootp->NIC_SRAM, sizeof model_->rootp->NIC_SRAM); }

    void begin(const NicInputs& inputs) {
#ifdef LANAI_AS_SYNTHESIZED
        drive(present_);
        tick(*model_);
        model_->rst = 0;
        present_ = inputs;
#else
        settle();
        drive(inputs);  // the model registers them with the edge
        resting_.tick(*model_);
        still_ = false;
#endif
    }

    // `begin` with NO_INPUTS, up to `most` times. Returns how often. If more than once, the outputs are all the time
    // those of the slot before.
    uint32_t begin_still(uint64_t most = 1) {
#ifdef LANAI_AS_SYNTHESIZED
        begin(NO_INPUTS);
        return 1;
#else
        if (const uint32_t left_out = waiting_.begin(most)) return left_out;
        if (RARELY(waiting_.ran_out())) settle();
        if (RARELY(!still_)) drive(NO_INPUTS);
        still_ = true;
        const uint32_t begun = core_.begin(*model_, uint32_t(std::min<uint64_t>(most, 1u << 30)));
        if (begun) return begun;
        resting_.tick(*model_);
        waiting_.look(*model_);
        return 1;
#endif
    }

    // The model is in the present slot: whatever is read from it is so.
    void settle() {
        core_.back(*model_);
        if (!waiting_.back(*model_)) resting_.tick(*model_);
    }
    // The model alone does everything.
    void whole(bool is_whole) { core_.may = waiting_.may = !is_whole; }
    uint64_t outside() const { return core_.begun + waiting_.begun; }

    template <class Direction>
    void state(Direction& way) {
        settle();
        pass_model(way, *model_);
        resting_.state(way);
        still_ = false;
#ifdef LANAI_AS_SYNTHESIZED
        pass(way, present_);
#endif
    }

    NicModel& model() { return *model_; }
    const NicModel& model() const { return *model_; }
    // Ports by name, without the table of references that a model has.
    auto& ports() { return *model_->rootp; }

  private:
    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<NicModel> model_;
    bool still_ = false;  // NO_INPUTS stand at the model
    CoreRun core_;
    Waiting waiting_;
    Resting resting_;
#ifdef LANAI_AS_SYNTHESIZED
    NicInputs present_ = NO_INPUTS;
#endif

    void drive(const NicInputs& in) {
        auto& m = ports();
        m.left_out = in.left_out;
        m.PORT(link_rx, data) = in.rx_data;
        m.PORT(link_rx, kind) = in.rx_kind;
        m.PORT(link_tx, stop) = in.tx_stop;
        m.PORT(mem, ready) = in.mem_ready;
        m.PORT(mem, rvalid) = in.mem_rvalid;
        m.PORT(mem, rdata) = in.mem_rdata;
        m.PORT(mem, rerror) = in.mem_rerror;
        m.PORT(pio, valid) = in.pio_valid;
        m.PORT(pio, write) = in.pio_write;
        m.PORT(pio, addr) = in.pio_addr;
        m.PORT(pio, wdata) = in.pio_wdata;
        m.PORT(pio, be) = in.pio_be;
    }
};
