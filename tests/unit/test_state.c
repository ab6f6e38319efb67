// SPDX-License-Identifier: MIT
/* test_state: every step from every state, as the diagram in state.h has them. */
#include <criterion/criterion.h>

#include "core/state.h"

static const char *const wanted[KR_VQP_NR_STATES] = {
	/* to:                IDLE CONNECTING ACCEPTING OPEN REFUSED CLOSED ABORTED */
	[KR_VQP_IDLE] =       "." "x" "x" "." "." "." "x",
	[KR_VQP_CONNECTING] = "." "." "." "x" "x" "." "x",
	[KR_VQP_ACCEPTING] =  "." "." "." "x" "." "." "x",
	[KR_VQP_OPEN] =       "." "." "." "." "." "x" "x",
	[KR_VQP_REFUSED] =    "." "." "." "." "." "." ".",
	[KR_VQP_CLOSED] =     "." "." "." "." "." "." ".",
	[KR_VQP_ABORTED] =    "." "." "." "." "." "." ".",
};

Test(state, vqp_state_may__every_pair)
{
	int from, to;

	for (from = 0; from < KR_VQP_NR_STATES; from++)
		for (to = 0; to < KR_VQP_NR_STATES; to++)
			cr_expect_eq(kr_vqp_state_may(from, to),
				     wanted[from][to] == 'x', "%s -> %s",
				     kr_vqp_state_name(from),
				     kr_vqp_state_name(to));
}

Test(state, names__all_and_none_else)
{
	int i;

	for (i = 0; i < KR_VQP_NR_STATES; i++)
		cr_expect_str_neq(kr_vqp_state_name(i), "?");
	for (i = 0; i < KR_PATH_NR_STATES; i++)
		cr_expect_str_neq(kr_path_state_name(i), "?");
	cr_expect_str_eq(kr_vqp_state_name(KR_VQP_NR_STATES), "?");
	cr_expect_str_eq(kr_path_state_name(KR_PATH_NR_STATES), "?");
}
