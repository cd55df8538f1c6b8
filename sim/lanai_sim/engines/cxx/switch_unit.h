// A switch, or what takes its place, between its wires.
#pragma once
#include <memory>

#include "state.h"
#include "switch_model.h"
#include "tick.h"
#include "units.h"

class SwitchUnit final : public Switch {
    Wire *tx[SWITCH_PORTS] = {}, *rx[SWITCH_PORTS] = {};

  public:
    explicit SwitchUnit(const uint32_t* numbers)
        : context_(new VerilatedContext), model_(new SwitchModel(context_.get())), ports_(*model_) {
        set_numbers(*model_, numbers);
#ifdef LANAI_AS_SYNTHESIZED
        model_->rst = 1;
        model_->clk = 0;
        model_->eval();
        clock();
        model_->rst = 0;
#endif
        model_->clk = 0;
        model_->eval();
    }

    void join_tx(uint32_t port, Wire* wire) override { tx[port] = wire; }
    void join_rx(uint32_t port, Wire* wire) override { rx[port] = wire; }
    void barrier([[maybe_unused]] uint32_t members, [[maybe_unused]] uint32_t parent) override {
#ifdef SWITCH_CASCADED
        model_->barrier_members = decltype(model_->barrier_members)(members);
        model_->barrier_parent = decltype(model_->barrier_parent)(parent);
#endif
    }

    void advance(uint64_t horizon, bool skip) override { advance_steps(*this, horizon, skip); }

    void step(uint64_t) {
        bool is_held = true;  // no STOP changes
        for (int i = 0; i < SWITCH_PORTS; i++) {
            if (!tx[i]) continue;
            tx[i]->put(slot, *ports_.tx_kind[i], *ports_.tx_data[i]);
            rx[i]->put_stop(slot, *ports_.rx_stop[i]);
            uint64_t before = slot - tx[i]->latency;
            *ports_.rx_kind[i] = rx[i]->kind[before & rx[i]->mask];
            *ports_.rx_data[i] = rx[i]->data[before & rx[i]->mask];
            const uint8_t stop = tx[i]->stop[before & tx[i]->mask];
            is_held &= *ports_.tx_stop[i] == stop;
            *ports_.tx_stop[i] = stop;
        }
        if (!is_held || !held(*model_)) clock();
        slot++;
        evaluated++;
    }

    bool quiet() const override {
        if (!model_->idle) return false;
        for (int i = 0; i < SWITCH_PORTS; i++)
            if (tx[i] && !(rx[i]->flits_quiet(slot) && tx[i]->stops_quiet(slot) && tx[i]->last_kind < slot &&
                           rx[i]->last_stop < slot && tx[i]->resting(slot)))
                return false;
        return true;
    }

    uint64_t wake() const override {
        uint64_t first = ~0ull;
        for (Wire* wire : tx)
            if (wire && wire->next(slot) < first) first = wire->next(slot);
        return first;
    }

    bool rest(uint64_t to) override {
        for (int i = 0; i < SWITCH_PORTS; i++)
            if (tx[i]) {
                tx[i]->rest(slot, to);
                rx[i]->rest_stop(slot, to);
            }
        slot = to;
        return true;
    }

    void save(StateWriter& to) override { state(to); }
    void restore(StateReader& from) override { state(from); }

  private:
    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<SwitchModel> model_;
    SwitchPorts ports_;

    template <class Direction>
    void state(Direction& way) {
        pass_model(way, *model_);
        pass(way, slot);
        pass(way, evaluated);
    }

    void clock() { tick(*model_); }
};
