# A NIC in a Vivado block design: JTAG is its host, a block RAM the host's memory, and its link is looped back.
#
#   lanai verilog nic --wrap axi-lite --config sram_size=131072 -o nic
#   vivado -mode batch -source block_design.tcl -tclargs nic [PART]
#
# It writes the project `lanai` and validates the design. Pins are yours. Bytes: the byte at address a of the NIC is the
# byte at a of the bus, so a register reads with its bytes reversed (PORTS.md).

set directory [lindex $argv 0]
set part [expr {$argc > 1 ? [lindex $argv 1] : "xc7a100tcsg324-1"}]
set mhz 50

create_project lanai lanai -part $part -force

# The sources, as the list that `lanai verilog` has written has them.
set list [open [file join $directory lanai_nic.f]]
set sources {}
foreach name [split [string trim [read $list]] "\n"] { lappend sources [file join $directory $name] }
close $list
add_files -norecurse $sources
update_compile_order -fileset sources_1

create_bd_design lanai

proc ip {kind name} {
    create_bd_cell -type ip -vlnv [lindex [lsort -dictionary [get_ipdefs "xilinx.com:ip:$kind:*"]] end] $name
}

create_bd_cell -type module -reference lanai_nic nic
ip clk_wiz clock
ip proc_sys_reset reset
ip jtag_axi jtag
ip smartconnect to_nic
ip smartconnect to_memory
ip axi_bram_ctrl memory_port
ip blk_mem_gen memory

set_property CONFIG.CLKOUT1_REQUESTED_OUT_FREQ $mhz [get_bd_cells clock]
set_property CONFIG.USE_RESET false [get_bd_cells clock]
set_property CONFIG.PROTOCOL 2 [get_bd_cells jtag]
set_property -dict {CONFIG.PROTOCOL AXI4LITE CONFIG.SINGLE_PORT_BRAM 1} [get_bd_cells memory_port]
foreach name {to_nic to_memory} { set_property CONFIG.NUM_SI 1 [get_bd_cells $name] }

# The clock comes from a pin. The reset is made synchronous: the NIC's is active high.
make_bd_pins_external [get_bd_pins clock/clk_in1]
foreach pin {nic/clk reset/slowest_sync_clk jtag/aclk to_nic/aclk to_memory/aclk memory_port/s_axi_aclk} {
    connect_bd_net [get_bd_pins clock/clk_out1] [get_bd_pins $pin]
}
connect_bd_net [get_bd_pins clock/locked] [get_bd_pins reset/dcm_locked]
connect_bd_net [get_bd_pins clock/locked] [get_bd_pins reset/ext_reset_in]
connect_bd_net [get_bd_pins reset/peripheral_reset] [get_bd_pins nic/rst]
foreach pin {jtag/aresetn to_nic/aresetn to_memory/aresetn memory_port/s_axi_aresetn} {
    connect_bd_net [get_bd_pins reset/peripheral_aresetn] [get_bd_pins $pin]
}

# The host's accesses come to `s_axil`, the NIC reaches host memory by `m_axil`.
connect_bd_intf_net [get_bd_intf_pins jtag/M_AXI] [get_bd_intf_pins to_nic/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins to_nic/M00_AXI] [get_bd_intf_pins nic/s_axil]
connect_bd_intf_net [get_bd_intf_pins nic/m_axil] [get_bd_intf_pins to_memory/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins to_memory/M00_AXI] [get_bd_intf_pins memory_port/S_AXI]
connect_bd_intf_net [get_bd_intf_pins memory_port/BRAM_PORTA] [get_bd_intf_pins memory/BRAM_PORTA]

# What it sends comes back. A longer way needs a phy or registers, for all three signals.
foreach {from to} {link_tx__kind link_rx__kind link_tx__data link_rx__data link_rx__stop link_tx__stop} {
    connect_bd_net [get_bd_pins nic/$from] [get_bd_pins nic/$to]
}
make_bd_pins_external [get_bd_pins nic/irq]

assign_bd_address
validate_bd_design
save_bd_design
add_files -norecurse [make_wrapper -files [get_files lanai.bd] -top]
set_property top lanai_wrapper [current_fileset]
