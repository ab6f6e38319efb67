/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * States of a VQP and of the path of an association, as tables.
 *
 *            connect            ACCEPT
 *     IDLE ---------> CONNECTING ------> OPEN ----------> CLOSED
 *      |                  |  REJECT,      |  both FINs
 *      |  CONNECT came    |  timeout      |  accepted
 *      |                  v               |
 *      |              REFUSED             |  RST, abort, timeout,
 *      |                                  v  end of the association
 *      +--> ACCEPTING ----- confirmed --> OPEN   ... any of these ---> ABORTED
 *
 *     path:  NONE -> PROBING -> READY -> NONE (device or peer end gone)
 */
#ifndef KRCORE_CORE_STATE_H
#define KRCORE_CORE_STATE_H

#include "env.h"

enum kr_vqp_state {
	KR_VQP_IDLE,
	KR_VQP_CONNECTING,
	KR_VQP_ACCEPTING,
	KR_VQP_OPEN,
	KR_VQP_REFUSED,
	KR_VQP_CLOSED,
	KR_VQP_ABORTED,
	KR_VQP_NR_STATES,
};

enum kr_path_state {
	KR_PATH_NONE,
	KR_PATH_PROBING,
	KR_PATH_READY,
	KR_PATH_NR_STATES,
};

bool kr_vqp_state_may(enum kr_vqp_state from, enum kr_vqp_state to);
const char *kr_vqp_state_name(enum kr_vqp_state state);
const char *kr_path_state_name(enum kr_path_state state);

#endif
