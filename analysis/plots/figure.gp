# SPDX-License-Identifier: GPL-3.0-or-later
# Begins a figure: width, height and font size are set; format and figure say what becomes of it.
eval page(width, height, size)
set output figure
