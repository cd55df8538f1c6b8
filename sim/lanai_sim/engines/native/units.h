// A NIC and a switch between their wires, with what the host does.
#pragma once
#include <deque>
#include <memory>

#include "memory.h"
#include "nic.h"
#include "pio.h"
#include "wave.h"
#ifdef LANAI_TRACED
#include "trace.h"
#define TRACE(what) tracer.what
#else
#define TRACE(what)
#endif

class NicUnit : public Unit {
  public:
    HostMemory memory;
    std::deque<Pio> pio;
    Processors processors;
    Wire *tx = nullptr, *rx = nullptr;
    uint32_t number;
    bool irq = false;
    Wave<NicModel> wave;
#ifdef LANAI_TRACED
    Tracer tracer;
#endif

    NicUnit(uint32_t number, uint64_t slot_khz) : processors(slot_khz), number(number) {}
    ~NicUnit() {
        if (ended_with_next_ != NONE && wave.within(ended_with_next_)) begin(NO_INPUTS);
        wave.close();
    }

    void step() override {
        if (owed_) catch_up();
        if (processors.due() <= slot) processors.admit(slot, pio);
        NicInputs in = inputs();
        begin(in);
        NicModel& m = gates_.model();
        ended_with_next_ = slot;
        tx->put(slot, m.PORT(link_tx, kind), m.PORT(link_tx, data));
        rx->put_stop(slot, m.PORT(link_rx, stop));
        TRACE(sends(slot, m.PORT(link_tx, kind), m.PORT(link_tx, data)));
        TRACE(receives(slot, in.rx_kind, in.rx_data));
        host_memory(m);
        programmed_io(m, in.pio_valid);
        if (m.irq != irq) {
            irq = m.irq;
            if (irq) events.push_back({slot, IRQ, number, 0, 0});
        }
        slot++;
        evaluated++;
        idle_ = m.idle && ::quiet(in);
    }

    bool quiet() const override {
        return idle_ && !answer_ && !reading_ && (pio.empty() || pio.front().slot > slot) && processors.due() > slot &&
               rx->flits_quiet(slot) && tx->stops_quiet(slot) && tx->resting(slot) && !wave.within(slot);
    }

    uint64_t wake() const override {
        uint64_t first = std::min(pio.empty() ? ~uint64_t(0) : pio.front().slot, processors.due());
        const NicModel& m = gates_.model();
        if (m.wake_armed) {
            uint32_t away = uint32_t(m.wake_cycle) - uint32_t(slot >> 1);
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

    // What the host has mapped is the host's to map again.
    bool settled() const override {
#ifdef LANAI_TRACED
        return false;  // rows are kept elsewhere
#endif
        return Unit::settled() && pio.empty() && processors.settled() && memory.watches.empty() && !recorded_ &&
               wave.from == NONE;
    }
    void save(StateWriter& to) override { state(to); }
    void restore(StateReader& from) override { state(from); }

    NicModel& model() { return gates_.model(); }

    // Keep the inputs of every slot from now on.
    void record() { recorded_.reset(new std::vector<NicInputs>); }
    const std::vector<NicInputs>* recorded() const { return recorded_.get(); }

  private:
    static constexpr uint64_t NONE = ~0ull;

    NicGates gates_;
    std::unique_ptr<std::vector<NicInputs>> recorded_;  // usually none
    bool idle_ = false, answer_ = false, error_ = false, reading_ = false, is_offered_ = false;
    uint32_t value_ = 0;
    uint64_t offered_ = 0;  // slot since which an access is offered to the NIC
    uint64_t owed_ = 0;  // slots rested and not yet made known to the model: 0 or odd
    uint64_t ended_with_next_ = NONE;  // the slot that the model is in; NONE: none that is told of

    template <class Direction>
    void state(Direction& way) {
        gates_.state(way);
        pass(way, slot);
        pass(way, evaluated);
        pass(way, irq);
        pass(way, memory.refused);
        for (bool* flag : {&idle_, &answer_, &error_, &reading_, &is_offered_}) pass(way, *flag);
        pass(way, value_);
        for (uint64_t* count : {&offered_, &owed_, &ended_with_next_}) pass(way, *count);
    }

    void begin(const NicInputs& in) {
        if (recorded_) recorded_->push_back(in);
        gates_.begin(in);
        if (ended_with_next_ == NONE) return;
        TRACE(look(ended_with_next_, gates_.model()));
        wave.dump(gates_.model(), ended_with_next_, 0);
    }

    void catch_up() {
        NicInputs in = NO_INPUTS;
        in.left_out = owed_ - 1;
        begin(in);
        ended_with_next_ = NONE;
        owed_ = 0;
        evaluated++;
    }

    // Of this slot. They depend on nothing that the NIC puts out in it.
    NicInputs inputs() {
        NicInputs in = NO_INPUTS;
        uint64_t before = slot - tx->latency;  // slots before the first wrap around to slots never written: idle
        in.rx_kind = rx->kind[before & rx->mask];
        in.rx_data = rx->data[before & rx->mask];
        in.tx_stop = tx->stop[before & tx->mask];
        in.mem_rvalid = answer_;
        in.mem_rdata = value_;
        in.mem_rerror = error_;
        if (reading_ || pio.empty() || pio.front().slot > slot) return in;
        const Pio& access = pio.front();
        in.pio_valid = 1;
        in.pio_write = uint8_t(access.write);
        in.pio_addr = access.address;
        in.pio_wdata = access.data;
        in.pio_be = uint8_t(access.be);
        return in;
    }

    // A beat taken in this slot is answered in the next.
    void host_memory(NicModel& m) {
        answer_ = m.PORT(mem, valid);
        if (!answer_) return;
        TRACE(master(slot, m.PORT(mem, write), m.PORT(mem, addr), m.PORT(mem, be), m.PORT(mem, burst) <= 1));
        uint32_t hit = 0;
        if (m.PORT(mem, write)) {
            error_ =
                !memory.write(m.PORT(mem, addr), m.PORT(mem, wdata), m.PORT(mem, be), m.PORT(mem, burst) <= 1, &hit);
        } else {
            value_ = 0xDEADDEAD;
            error_ = !memory.read(m.PORT(mem, addr), m.PORT(mem, burst), &value_);
        }
        if (hit) events.push_back({slot + 1, WATCH, number, hit, 0});
    }

    // The access that stands at the NIC in this slot, if it is `offered`, or the answer to one that was read.
    void programmed_io(NicModel& m, bool offered) {
        if (reading_ && m.PORT(pio, rvalid)) {  // the next access is offered in the next slot
            TRACE(pio(offered_, slot + 1, false, pio.front().address, 15));
            performed(m.PORT(pio, rdata));
            reading_ = false;
        }
        if (!offered) return;
        const Pio& access = pio.front();
        if (!is_offered_) offered_ = slot;
        is_offered_ = true;
        if (!m.PORT(pio, ready)) return;
        is_offered_ = false;
        if (!access.write) {
            reading_ = true;
            return;
        }
        TRACE(pio(offered_, slot + 1, true, access.address, uint8_t(access.be)));
        performed(0);
    }

    // The access at the front was, in this slot.
    void performed(uint32_t value) {
        Pio access = pio.front();
        pio.pop_front();
        uint32_t tag = access.program ? processors.done(access.program, slot + 1) : access.tag;
        if (tag) events.push_back({slot + 1, PIO_DONE, number, tag, value});
    }
};

#ifdef SWITCH_PORTS
class SwitchUnit : public Unit {
  public:
    Wire *tx[SWITCH_PORTS] = {}, *rx[SWITCH_PORTS] = {};

    SwitchUnit() : context_(new VerilatedContext), model_(new SwitchModel(context_.get())), ports_(*model_) {
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

    SwitchModel& model() { return *model_; }

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
#endif
