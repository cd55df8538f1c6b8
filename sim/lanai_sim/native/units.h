// A NIC and a switch with their Verilated models. `models.h`, generated, names the ports.
#pragma once
#include <deque>
#include <memory>

#include "memory.h"
#include "models.h"
#include "wave.h"
#ifdef LANAI_TRACED
#include "trace.h"
#define TRACE(what) tracer.what
#else
#define TRACE(what)
#endif

// Verilator's spelling of Amaranth's port `bundle__name`.
#define PORT(bundle, name) bundle##___05F##name

// A model whose clock is left high can be told that it was low: one evaluation a slot instead of two. Not in every Verilator.
template <class Root>
auto rearm(Root* root, int) -> decltype(root->__Vtrigprevexpr___TOP__clk__0, bool()) {
    root->__Vtrigprevexpr___TOP__clk__0 = 0;
    return true;
}
template <class Root>
bool rearm(Root*, long) {
    return false;
}

template <class Model>
void tick(Model& model) {
    if (VM_TRACE || !rearm(model.rootp, 0)) {
        model.clk = 0;
        model.eval();
    }
    model.clk = 1;
    model.eval();
}

struct Pio {
    uint64_t slot;  // not before
    uint32_t write, address, data, be, tag;
};

class NicUnit : public Unit {
  public:
    HostMemory memory;
    std::deque<Pio> pio;
    Wire *tx = nullptr, *rx = nullptr;
    uint32_t number;
    bool irq = false;
    Wave<NicModel> wave;
#ifdef LANAI_TRACED
    Tracer tracer;
#endif

    explicit NicUnit(uint32_t number) : number(number), context_(new VerilatedContext), model_(new NicModel(context_.get())) {
        NicModel& m = *model_;
        m.rst = 1;
        clock();
        clock();
        m.rst = 0;
        m.PORT(mem, ready) = 1;
        idle_ = false;
        m.clk = 0;
        m.eval();
    }
    ~NicUnit() { wave.close(); }

    void step() override {
        NicModel& m = *model_;
        if (owed_) catch_up(m);
        tx->put(slot, m.PORT(link_tx, kind), m.PORT(link_tx, data));
        rx->put_stop(slot, m.PORT(link_rx, stop));
        uint64_t before = slot - tx->latency;  // slots before the first wrap around to slots never written: idle
        m.PORT(link_rx, kind) = rx->kind[before & rx->mask];
        m.PORT(link_rx, data) = rx->data[before & rx->mask];
        m.PORT(link_tx, stop) = tx->stop[before & tx->mask];
        TRACE(sends(slot, m.PORT(link_tx, kind), m.PORT(link_tx, data)));
        TRACE(receives(slot, m.PORT(link_rx, kind), m.PORT(link_rx, data)));
        host_memory(m);
        programmed_io(m);
        clock();
        TRACE(look(slot, m));
        slot++;
        evaluated++;
        idle_ = m.idle;
        if (m.irq != irq) {
            irq = m.irq;
            if (irq) events.push_back({slot, IRQ, number, 0, 0});
        }
    }

    bool quiet() const override {
        return idle_ && !answer_ && !reading_ && (pio.empty() || pio.front().slot > slot) && rx->flits_quiet(slot) &&
               tx->stops_quiet(slot) && tx->resting(slot) && !wave.within(slot);
    }

    uint64_t wake() const override {
        uint64_t first = pio.empty() ? ~0ull : pio.front().slot;
        if (model_->wake_armed) {
            uint32_t away = uint32_t(model_->wake_cycle) - uint32_t(slot >> 1);
            uint64_t timer = ((slot >> 1) + away) * 2;
            timer = timer > slot + 4 ? timer - 4 : slot;
            if (timer < first) first = timer;
        }
        if (tx->next(slot) < first) first = tx->next(slot);
        return wave.next(slot) < first ? wave.next(slot) : first;
    }

    // One slot in which nothing happens is evaluated, later, for any even number of those left out.
    bool rest(uint64_t to) override {
        uint64_t more = to - slot;
        more -= (more + owed_ + 1) & 1;
        if (more + owed_ < 3) return false;
        tx->rest(slot, slot + more);
        rx->rest_stop(slot, slot + more);
        slot += more;
        owed_ += more;
        return more > 0;
    }

    void pause() override { memory.pause(); }
    NicModel& model() { return *model_; }

  private:
    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<NicModel> model_;
    bool idle_ = false, answer_ = false, error_ = false, reading_ = false, is_offered_ = false;
    uint32_t value_ = 0;
    uint64_t offered_ = 0;  // slot since which an access is offered to the NIC
    uint64_t owed_ = 0;  // slots rested and not yet made known to the model: 0 or odd

    void clock() {
        tick(*model_);
        wave.dump(*model_, slot, 0);
    }

    void catch_up(NicModel& m) {
        m.PORT(link_rx, kind) = IDLE;
        m.PORT(link_tx, stop) = 0;
        m.PORT(mem, rvalid) = 0;
        m.PORT(pio, valid) = 0;
        m.left_out = owed_ - 1;
        tick(m);
        m.left_out = 0;
        owed_ = 0;
        evaluated++;
    }

    // A beat taken in this slot is answered in the next.
    void host_memory(NicModel& m) {
        m.PORT(mem, rvalid) = answer_;
        m.PORT(mem, rdata) = value_;
        m.PORT(mem, rerror) = error_;
        answer_ = m.PORT(mem, valid);
        if (!answer_) return;
        TRACE(master(slot, m.PORT(mem, write), m.PORT(mem, addr), m.PORT(mem, be), m.PORT(mem, burst) <= 1));
        uint32_t hit = 0;
        if (m.PORT(mem, write)) {
            error_ = !memory.write(m.PORT(mem, addr), m.PORT(mem, wdata), m.PORT(mem, be), m.PORT(mem, burst) <= 1, &hit);
        } else {
            value_ = 0xDEADDEAD;
            error_ = !memory.read(m.PORT(mem, addr), m.PORT(mem, burst), &value_);
        }
        if (hit) events.push_back({slot + 1, WATCH, number, hit, 0});
    }

    void programmed_io(NicModel& m) {
        if (reading_ && m.PORT(pio, rvalid)) {
            TRACE(pio(offered_, slot + 1, false, pio.front().address, 15));
            events.push_back({slot + 1, PIO_DONE, number, pio.front().tag, m.PORT(pio, rdata)});
            pio.pop_front();
            reading_ = false;
            m.PORT(pio, valid) = 0;
            return;  // the next access is taken after the answer
        }
        m.PORT(pio, valid) = 0;
        if (reading_ || pio.empty() || pio.front().slot > slot) return;
        const Pio& access = pio.front();
        if (!is_offered_) offered_ = slot;
        is_offered_ = true;
        m.PORT(pio, valid) = 1;
        m.PORT(pio, write) = access.write;
        m.PORT(pio, addr) = access.address;
        m.PORT(pio, wdata) = access.data;
        m.PORT(pio, be) = access.be;
        if (!m.PORT(pio, ready)) return;
        is_offered_ = false;
        if (!access.write) {
            reading_ = true;
            return;
        }
        TRACE(pio(offered_, slot + 1, true, access.address, uint8_t(access.be)));
        if (access.tag) events.push_back({slot + 1, PIO_DONE, number, access.tag, 0});
        pio.pop_front();
    }
};

#ifdef SWITCH_PORTS
class SwitchUnit : public Unit {
  public:
    Wire *tx[SWITCH_PORTS] = {}, *rx[SWITCH_PORTS] = {};

    SwitchUnit() : context_(new VerilatedContext), model_(new SwitchModel(context_.get())), ports_(*model_) {
        model_->rst = 1;
        clock();
        clock();
        model_->rst = 0;
        model_->clk = 0;
        model_->eval();
    }

    void step() override {
        for (int i = 0; i < SWITCH_PORTS; i++) {
            if (!tx[i]) continue;
            tx[i]->put(slot, *ports_.tx_kind[i], *ports_.tx_data[i]);
            rx[i]->put_stop(slot, *ports_.rx_stop[i]);
            uint64_t before = slot - tx[i]->latency;
            *ports_.rx_kind[i] = rx[i]->kind[before & rx[i]->mask];
            *ports_.rx_data[i] = rx[i]->data[before & rx[i]->mask];
            *ports_.tx_stop[i] = tx[i]->stop[before & tx[i]->mask];
        }
        clock();
        slot++;
        evaluated++;
    }

    bool quiet() const override {
        if (!model_->idle) return false;
        for (int i = 0; i < SWITCH_PORTS; i++)
            if (tx[i] && !(rx[i]->flits_quiet(slot) && tx[i]->stops_quiet(slot) && tx[i]->last_kind < slot && rx[i]->last_stop < slot && tx[i]->resting(slot))) return false;
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

    SwitchModel& model() { return *model_; }

  private:
    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<SwitchModel> model_;
    SwitchPorts ports_;

    void clock() { tick(*model_); }
};
#endif
