// Blocks of the NIC that are evaluated only while they are awake: what `RestingBlock` in gateware/resting.py asks of
// who evaluates it. nic.h includes this file.
#pragma once

#ifdef RESTING

class Resting {
  public:
    bool still = false;  // no block was awake in the slot before

    // Before the first slot: blocks are awake, and see their inputs as they are.
    void begin(NicModel& model) {
        for (bool& was : was_awake_) was = true;
        settle(model);
    }

    void tick(NicModel& model) {
        ::tick(model, *this);
        settle(model);
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
        pass(way, still);
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

    static All ports(NicModel& model) {
        auto& m = *model.rootp;
#define ONE(name) {m.state_clk_##name, m.input_clk_##name, m.awake_##name, m.unsettled_##name},
        return {{RESTING(ONE)}};
#undef ONE
    }

    // As the function of this name does for the model's clock.
    template <class Root>
#define ONE(name) root->__Vtrigprevexpr___TOP__state_clk_##name##__0,
    static auto rearm(Root* root, int) -> decltype(RESTING(ONE) bool()) {
#undef ONE
#define ONE(name) root->__Vtrigprevexpr___TOP__state_clk_##name##__0 = 0;
        RESTING(ONE)
#undef ONE
        return true;
    }
    template <class Root>
    static bool rearm(Root*, long) {
        return false;
    }

    void settle(NicModel& model) {
        All all = ports(model);
        while (wanted(all)) give(model, all);
        still = true;
        for (unsigned i = 0; i < COUNT; i++) {
            was_awake_[i] = all.list[i].awake;
            still &= !was_awake_[i];
        }
    }
    static bool wanted(All& all) {
        for (Ports& port : all.list)
            if (RARELY(port.unsettled)) return true;
        return false;
    }

    // Blocks get their inputs as they are.
    RARE static void give(NicModel& model, All& all) {
        bool risen = false;
        for (Ports& port : all.list) {
            risen |= port.input_clk;
            port.input_clk = port.state_clk = 0;
        }
        if (risen) evaluate(model);  // a clock that has risen must fall to rise again
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
