// SPDX-License-Identifier: GPL-2.0 OR MIT
/* State tables: see state.h. */
#include "state.h"

#define TO(s) (1u << KR_VQP_##s)

static const u32 allowed[KR_VQP_NR_STATES] = {
	[KR_VQP_IDLE] = TO(CONNECTING) | TO(ACCEPTING) | TO(ABORTED),
	[KR_VQP_CONNECTING] = TO(OPEN) | TO(REFUSED) | TO(ABORTED),
	[KR_VQP_ACCEPTING] = TO(OPEN) | TO(ABORTED),
	[KR_VQP_OPEN] = TO(CLOSED) | TO(ABORTED),
};

static const char *const vqp_names[KR_VQP_NR_STATES] = {
	[KR_VQP_IDLE] = "IDLE",
	[KR_VQP_CONNECTING] = "CONNECTING",
	[KR_VQP_ACCEPTING] = "ACCEPTING",
	[KR_VQP_OPEN] = "OPEN",
	[KR_VQP_REFUSED] = "REFUSED",
	[KR_VQP_CLOSED] = "CLOSED",
	[KR_VQP_ABORTED] = "ABORTED",
};

static const char *const path_names[KR_PATH_NR_STATES] = {
	[KR_PATH_NONE] = "NONE",
	[KR_PATH_PROBING] = "PROBING",
	[KR_PATH_READY] = "READY",
};

bool kr_vqp_state_may(enum kr_vqp_state from, enum kr_vqp_state to)
{
	return allowed[from] >> to & 1;
}

const char *kr_vqp_state_name(enum kr_vqp_state state)
{
	return state < KR_VQP_NR_STATES ? vqp_names[state] : "?";
}

const char *kr_path_state_name(enum kr_path_state state)
{
	return state < KR_PATH_NR_STATES ? path_names[state] : "?";
}
