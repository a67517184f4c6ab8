# SPDX-License-Identifier: GPL-3.0-or-later
# What the figures of a grid of paths have in common: at(s) is where stack s of the row and column
# being drawn stands.
any_row_name = 0
do for [i = 1:rows] { if (strlen(row_name[i])) { any_row_name = 1 } }
small = format eq 'pdf' ? 8.5 : 12
aside(s) = (s - (stacks + 1) / 2.0) * 0.22
at(s) = $1 == r && $2 == c && $3 == s ? $4 + aside(s) : NaN
legend = ", for [s = 1:stacks] keyentry with yerrorbars lc rgb colour[style_of[s]] lw 2 dt 1 pt mark[style_of[s]] ps 1.1 title stack_name[s]"
