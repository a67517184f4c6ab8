# SPDX-License-Identifier: GPL-3.0-or-later
load templates.'/reset.gp'
load templates.'/style.gp'
