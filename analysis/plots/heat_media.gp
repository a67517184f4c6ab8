# SPDX-License-Identifier: GPL-3.0-or-later
# Media throughput of every path as a part of the link's rate.
title_of_heat = 'media throughput (% of link rate)'
number = '%.0f'
most = 100
load templates.'/heat.gp'
