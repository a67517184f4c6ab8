/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The constants of flow queueing with CoDel (RFC 8290), for the model and for what the kernel's is
 * compared with. */
#ifndef TESTBED_LINK_FQ_CODEL_H
#define TESTBED_LINK_FQ_CODEL_H

#include "testbed/link/aqm.h"

#define FQ_CODEL_QUEUES 1024              /* RFC 8290 section 5.2.6 */
#define FQ_CODEL_QUANTUM AQM_PACKET_BYTES /* section 5.2.4 */
#define FQ_CODEL_BATCH_PACKETS 64 /* dropped at once when there is no room (section 4.1.3) */

#endif
