# SPDX-License-Identifier: GPL-3.0-or-later
# 95th percentile of the one-way delay of media of every path.
title_of_heat = 'one-way delay of media, 95th percentile (ms)'
number = '%.0f'
most = top
load templates.'/heat.gp'
