/* The pictures that a command line names, and where their results go. */
#ifndef TG_INPUTS_H
#define TG_INPUTS_H

#include <stdbool.h>

struct tg_input {
    char *path, *out;
    const char *name; /* of the result within an output folder: the tail of path, below the folder that was named */
    bool failed;      /* for the caller */
};

struct tg_inputs {
    struct tg_input *item;
    int n, room;
    int skipped; /* entries of folders that are no pictures */
    bool folder; /* more than one picture was asked for, or a folder */
};

/* Expands folders, sorted by name: regular files that begin like a picture, or are named like one (these then fail and are
 * reported). Whatever else a folder holds, pipes and dangling links too, is counted as skipped and not opened; recursive goes
 * into folders, not through links to them. A name that is no folder is taken as it is. TG_EIO: a folder that cannot be read. */
int tg_inputs_collect(struct tg_inputs *in, char **names, int n, bool recursive);

/* Sets each `out`. output is a folder if it ends with '/', is one, or more than one picture was asked for: then it is made where
 * it is missing (its parent must exist) and results keep their names, below folders theirs, with format's ending where that is
 * given or the name has none. TG_EUSAGE: two results would have one name (both inputs are named), or output is a file. */
int tg_inputs_place(struct tg_inputs *in, const char *output, const char *format);

void tg_inputs_free(struct tg_inputs *in);

#endif
