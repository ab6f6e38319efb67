/* SPDX-License-Identifier: MIT */
/*
 * What the files of krcorectl share.  An answer of the kernel becomes JSON
 * objects (krcorectl_fields.c), which are printed as they are with -j and are
 * what the text is made from otherwise: so both say the same.
 */
#ifndef KRCORE_KRCORECTL_H
#define KRCORE_KRCORECTL_H

#include <json-c/json.h>
#include <netlink/attr.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum ctl_exit {
	CTL_OK,
	CTL_FAILED,		/* the command line, or what the kernel says */
	CTL_NOT_LOADED,
};

struct ctl_options {
	bool is_json;		/* -j */
	bool is_human;		/* -H: units in sizes */
	bool with_all;		/* stat -a: zeros, too */
	bool with_listeners;	/* show -l */
	bool with_processes;	/* show -p */
	bool with_names;	/* show -r: resolve */
};

struct ctl_command {
	const char *name;
	const char *summary;
	const char *letters;	/* options of its own, as for getopt */
	enum ctl_exit (*run)(const struct ctl_options *opts);
};

/* krcorectl_line.c */

enum { CTL_NR_COMMANDS = 5 };
extern const struct ctl_command ctl_commands[CTL_NR_COMMANDS];

/* What a command line asks for. */
enum ctl_wish {
	CTL_WISH_COMMAND,	/* command and opts */
	CTL_WISH_HELP,
	CTL_WISH_VERSION,
	CTL_WISH_NOTHING,
	CTL_WISH_UNKNOWN,	/* no command is called word */
	CTL_WISH_TOO_MUCH,	/* word, after the command */
	CTL_WISH_NOT_ITS,	/* the command has no option letter */
	CTL_WISH_BAD_OPTION,	/* getopt has said so */
};

struct ctl_line {
	struct ctl_options opts;
	const struct ctl_command *command;
	const char *word;
	char letter;
};

/* Options come before or after the command; of several wishes the first. */
enum ctl_wish ctl_line_parse(struct ctl_line *line, int argc, char **argv);

/* The commands, each in its own file. */
enum ctl_exit ctl_run_show(const struct ctl_options *opts);
enum ctl_exit ctl_run_stat(const struct ctl_options *opts);
enum ctl_exit ctl_run_host(const struct ctl_options *opts);
enum ctl_exit ctl_run_dev(const struct ctl_options *opts);
enum ctl_exit ctl_run_qp(const struct ctl_options *opts);

/* krcorectl_genl.c */

/* One message; @attrs by number, NULL where absent. */
typedef void (*ctl_message_fn)(struct nlattr **attrs, void *ctx);

/*
 * Sends a command and calls @fn for each message of the answer.  0, -ENOENT
 * when krcore is not loaded, or another -errno.
 */
int ctl_genl_ask(int cmd, bool is_dump, int attr_max, ctl_message_fn fn, void *ctx);
/* Says on stderr what ctl_genl_ask() returned; the exit status. */
enum ctl_exit ctl_genl_failed(int err);

/* krcorectl_fields.c */

enum ctl_type {
	CTL_U8,
	CTL_U16,
	CTL_U32,
	CTL_U64,
	CTL_ID,			/* u64 as 16 hexadecimal digits */
	CTL_NAME,		/* u8, an index of names */
	CTL_STRING,
	CTL_ADDR,		/* IPv4 or IPv6 by its length */
	CTL_BYTES,		/* hexadecimal */
};

/* An attribute and the key that it has in JSON. */
struct ctl_field {
	int attr;
	enum ctl_type type;
	const char *key;
	const char *const *names;
	size_t nr_names;
};

/* All keys are there; null: the attribute is absent or not as it should be. */
struct json_object *ctl_fields_read(struct nlattr **attrs,
				    const struct ctl_field *fields, size_t nr);
/* Members of an object: 0 and "" for null. */
uint64_t ctl_number(struct json_object *object, const char *key);
const char *ctl_string(struct json_object *object, const char *key);
/* Prints an answer for -j. */
void ctl_json_print(FILE *out, struct json_object *answer);

/* krcorectl_table.c */

enum { CTL_COLUMNS_MAX = 16 };

/* Rows of text in columns as wide as they need. */
struct ctl_table {
	const char *aligns;		/* 'l' or 'r' for each column */
	size_t nr_columns;
	char **cells;
	size_t nr_cells;
	size_t room;
};

void ctl_table_init(struct ctl_table *t, const char *aligns);
__attribute__((format(printf, 2, 3)))
void ctl_table_cell(struct ctl_table *t, const char *format, ...);
void ctl_table_print(const struct ctl_table *t, FILE *out, const char *indent);
void ctl_table_clean(struct ctl_table *t);

/* @bytes as it is, or with a unit; in @text of 32 bytes, which is returned. */
enum { CTL_SIZE_LEN = 32 };
const char *ctl_size(char *text, uint64_t bytes, bool is_human);

/* krcorectl_process.c */

/* Adds "processes" to each connection: [{"name", "pid", "fd"}]. */
void ctl_process_find(struct json_object *conns);

/* The messages of each command and the text of its answer (for tests, too). */
struct json_object *ctl_show_read(struct nlattr **attrs);
void ctl_show_print(FILE *out, struct json_object *conns,
		    const struct ctl_options *opts);
struct json_object *ctl_stat_read(struct nlattr **attrs);
struct json_object *ctl_stat_flatten(struct json_object *answer);
void ctl_stat_print(FILE *out, struct json_object *answer,
		    const struct ctl_options *opts);
struct json_object *ctl_host_read(struct nlattr **attrs);
void ctl_host_print(FILE *out, struct json_object *hosts,
		    const struct ctl_options *opts);
struct json_object *ctl_dev_read(struct nlattr **attrs);
void ctl_dev_print(FILE *out, struct json_object *devs,
		   const struct ctl_options *opts);
struct json_object *ctl_qp_read(struct nlattr **attrs);
void ctl_qp_print(FILE *out, struct json_object *qps, const struct ctl_options *opts);

#endif
