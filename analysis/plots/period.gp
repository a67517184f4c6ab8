# SPDX-License-Identifier: GPL-3.0-or-later
# Shades the transfer.
if (during_end > 0) {
    set object 1 rectangle from during_start, graph 0 to during_end, graph 1 behind \
        fc rgb '#f4f1e4' fs solid noborder
    set label 1 'transfer' at (during_start + during_end) / 2, graph 0.965 center \
        font ',12' textcolor rgb '#8a7f55'
}
