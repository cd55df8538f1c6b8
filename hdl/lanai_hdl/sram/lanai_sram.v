// The NIC's SRAM for simulators other than Amaranth's: one port, one access a clock, read data a clock later.
module lanai_sram #(
    parameter ADDRESS_BITS = 18
) (
    input wire clk,
    input wire enable,
    input wire write,
    input wire [ADDRESS_BITS-1:0] addr,
    input wire [31:0] wdata,
    input wire [3:0] be,
    output reg [31:0] rdata
);
  reg [31:0] mem[0:(1<<ADDRESS_BITS)-1];

  // As an FPGA's block RAM begins. Synthesis knows, a tool would take minutes for the loop; Verilator's memories begin so,
  // and a machine of many NICs should not touch them all.
`ifndef SYNTHESIS
`ifndef VERILATOR
  integer word;
  initial begin
    rdata = 0;
    for (word = 0; word < (1 << ADDRESS_BITS); word = word + 1) mem[word] = 0;
  end
`endif
`endif

  always @(posedge clk)
    if (enable) begin
      if (!write) rdata <= mem[addr];
      else begin
        if (be[0]) mem[addr][7:0] <= wdata[7:0];
        if (be[1]) mem[addr][15:8] <= wdata[15:8];
        if (be[2]) mem[addr][23:16] <= wdata[23:16];
        if (be[3]) mem[addr][31:24] <= wdata[31:24];
      end
    end
endmodule
