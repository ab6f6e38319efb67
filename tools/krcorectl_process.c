// SPDX-License-Identifier: MIT
/*
 * Whose a socket is: the inode of each connection is looked for among the
 * descriptors of all processes that we may look into, as ss(8) does.
 */
#include "krcorectl.h"

#include <ctype.h>
#include <dirent.h>
#include <err.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A socket that is looked for, and its list of processes. */
struct wanted {
	uint64_t inode;
	struct json_object *processes;
};

static int compare(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static void read_name(const char *pid, char *name, int room)
{
	char path[NAME_MAX + 16];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	file = fopen(path, "r");
	if (!file || !fgets(name, room, file))
		snprintf(name, (size_t)room, "?");
	if (file)
		fclose(file);
	name[strcspn(name, "\n")] = '\0';
}

static void add_process(struct wanted *wanted, const char *pid, const char *fd)
{
	struct json_object *process = json_object_new_object();
	char name[64];

	read_name(pid, name, sizeof(name));
	json_object_object_add(process, "name", json_object_new_string(name));
	json_object_object_add(process, "pid",
			       json_object_new_uint64(strtoull(pid, NULL, 10)));
	json_object_object_add(process, "fd",
			       json_object_new_uint64(strtoull(fd, NULL, 10)));
	json_object_array_add(wanted->processes, process);
}

static void look_at_fd(struct wanted *wanted, size_t nr, int dir_fd,
		       const char *pid, const char *fd)
{
	struct wanted key = { 0 }, *found;
	char target[64];
	ssize_t len = readlinkat(dir_fd, fd, target, sizeof(target) - 1);

	if (len <= 0)
		return;
	target[len] = '\0';
	if (sscanf(target, "socket:[%" SCNu64 "]", &key.inode) != 1)
		return;
	found = bsearch(&key, wanted, nr, sizeof(*wanted), compare);
	if (found)
		add_process(found, pid, fd);
}

static void look_at_process(struct wanted *wanted, size_t nr, const char *pid)
{
	char path[NAME_MAX + 16];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			look_at_fd(wanted, nr, dirfd(dir), pid, entry->d_name);
	closedir(dir);
}

void ctl_process_find(struct json_object *conns)
{
	size_t nr = json_object_array_length(conns);
	struct wanted *wanted = calloc(nr + 1, sizeof(*wanted));
	struct dirent *entry;
	DIR *dir;

	if (!wanted)
		err(CTL_FAILED, NULL);
	for (size_t i = 0; i < nr; i++) {
		struct json_object *conn = json_object_array_get_idx(conns, i);

		wanted[i].inode = ctl_number(conn, "inode");
		wanted[i].processes = json_object_new_array();
		json_object_object_add(conn, "processes", wanted[i].processes);
	}
	qsort(wanted, nr, sizeof(*wanted), compare);
	dir = opendir("/proc");
	if (!dir)
		err(CTL_FAILED, "/proc");
	while ((entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			look_at_process(wanted, nr, entry->d_name);
	closedir(dir);
	free(wanted);
}
