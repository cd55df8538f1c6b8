// Blocks of the NIC that are evaluated only while they are awake: what `RestingBlock` in gateware/resting.py asks of
// who evaluates it. nic.h includes this file.
#pragma once

#ifdef RESTING

class Resting {
  public:
    // Before the first slot: blocks are awake, and see their inputs as they are.
    void begin(NicModel& model) {
        for (bool& was : was_awake_) was = true;
        settle(model);
    }

    void tick(NicModel& model) {
        ::tick(model, *this);
        settle(model);
    }

    // All of the slot but `settle`, if a copy of its code is for it.
    bool specialized(NicModel& model) const {
        return awake_ == 0 ? specialized_alone(model) : awake_ == COUNT && awake(model);
    }
    bool rearm(NicModel& model) const { return rearm(model.rootp, 0); }
    void fall(NicModel& model) const {
        All all = ports(model);
        for (Ports& port : all.list) port.state_clk = port.input_clk = 0;
    }
    void rise(NicModel& model) const {
        All all = ports(model);
        for (unsigned i = 0; i < COUNT; i++) {
            all.list[i].state_clk = was_awake_[i];
            all.list[i].input_clk = 0;
        }
    }

    template <class Direction>
    void state(Direction& way) {
        for (bool& was : was_awake_) pass(way, was);
        pass(way, awake_);
    }

  private:
    struct Ports {
        CData &state_clk, &input_clk, &awake, &unsettled;
    };
#define ONE(name) +1
    static constexpr unsigned COUNT = 0 RESTING(ONE);
#undef ONE
    struct All {
        Ports list[COUNT];
    };
    bool was_awake_[COUNT];  // in the slot before
    unsigned awake_ = COUNT;  // how many were

    // All of the slot with no block at rest, in which the blocks get their inputs too. False if this model has no code
    // for that.
    static bool awake(NicModel& model) {
        return (specialized_own(model) || general_own(model)) && (specialized_state(model) || general_state(model)) &&
               inputs(model);
    }
    static bool inputs(NicModel& model) { return specialized_inputs(model) || general_inputs(model); }

    static All ports(NicModel& model) {
        auto& m = *model.rootp;
#define ONE(name) {m.state_clk_##name, m.input_clk_##name, m.awake_##name, m.unsettled_##name},
        return {{RESTING(ONE)}};
#undef ONE
    }

    // As the function of this name does for the model's clock: of clocks of all blocks.
#define REARM(function, clk)                                                   \
    template <class Root>                                                      \
    static auto function(Root* root, int) -> decltype(RESTING(clk) bool()) {   \
        return RESTING(clk) true;                                              \
    }                                                                          \
    template <class Root>                                                      \
    static bool function(Root*, long) {                                        \
        return false;                                                          \
    }
#define STATE(name) root->__Vtrigprevexpr___TOP__state_clk_##name##__0 = 0,
#define INPUT(name) root->__Vtrigprevexpr___TOP__input_clk_##name##__0 = 0,
    REARM(rearm, STATE)
    REARM(rearm_inputs, INPUT)
#undef REARM
#undef STATE
#undef INPUT

    void settle(NicModel& model) {
        All all = ports(model);
        while (const unsigned blocks = unsettled(all))
            if (blocks < COUNT || !inputs(model)) give(model, all);
        awake_ = 0;
        for (unsigned i = 0; i < COUNT; i++) awake_ += was_awake_[i] = all.list[i].awake;
    }
    static unsigned unsettled(All& all) {
        unsigned blocks = 0;
        for (Ports& port : all.list) blocks += port.unsettled;
        return blocks;
    }

    // Blocks get their inputs as they are.
    RARE static void give(NicModel& model, All& all) {
        bool risen = false;
        for (Ports& port : all.list) {
            risen |= port.input_clk;
            port.input_clk = port.state_clk = 0;
        }
        // A clock that has risen must fall to rise again.
        if (risen && (VM_TRACE || !rearm_inputs(model.rootp, 0))) evaluate(model);
        for (Ports& port : all.list) port.input_clk = port.unsettled;
        evaluate(model);
    }
};

#else

class Resting {
  public:
    void begin(NicModel&) {}
    void tick(NicModel& model) { ::tick(model); }
    template <class Direction>
    void state(Direction&) {}
};

#endif
