/* cordon plot: the rows of --stats as a picture.
 *
 * One SVG with nothing outside of it: two panels, memory above CPU time, over the same time. Limits are dashed lines; one that is
 * far above everything that was used is named at the edge instead, so that what was used can be seen. Warnings are marks on the
 * line, the end by a limit is an upright line. Colours follow the reader's light or dark. */
#include "front/cli/args.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"
#include "front/cli/print.h"
#include "front/cli/stats.h"

enum {
	WIDTH = 880,
	HEIGHT = 572,
	LEFT = 84,
	RIGHT = 28,
	TOP = 96,
	PANEL = 170,
	GAP = 64,
	PLOT_WIDTH = WIDTH - LEFT - RIGHT,
	MOST_POINTS = 1200,
};

/* A limit further away than this many times what was used is not drawn to scale. */
#define FAR_LIMIT 12

static const char style[] =
	"<style>\n"
	"text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:12px;fill:#57606a}\n"
	".bg{fill:#ffffff}.grid{stroke:#d8dee4;stroke-width:1}.axis{stroke:#8c959f;stroke-width:1}\n"
	".title{font-size:17px;font-weight:600;fill:#1f2328}.panel{font-size:13px;font-weight:600;fill:#1f2328}\n"
	".memory{stroke:#0969da}.memory-area{fill:#0969da;fill-opacity:.12}.cpu{stroke:#8250df}.cpu-area{fill:#8250df;fill-opacity:"
	".12}\n"
	".line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}.limit{stroke:#cf222e;stroke-width:1.5;stroke-"
	"dasharray:6 4}\n"
	".limit-text{fill:#cf222e}.kill{stroke:#cf222e;stroke-width:1.5}.warning{fill:#bf8700;stroke:#ffffff;stroke-width:1.5}."
	"warning-key{fill:#bf8700}\n"
	"@media (prefers-color-scheme:dark){\n"
	"text{fill:#9198a1}.bg{fill:#0d1117}.grid{stroke:#262c36}.axis{stroke:#656c76}.title,.panel{fill:#f0f6fc}\n"
	".memory{stroke:#58a6ff}.memory-area{fill:#58a6ff}.cpu{stroke:#bc8cff}.cpu-area{fill:#bc8cff}\n"
	".limit,.kill{stroke:#ff7b72}.limit-text{fill:#ff7b72}.warning{fill:#e3b341;stroke:#0d1117}.warning-key{fill:#e3b341}}\n"
	"</style>\n";

/* ---- numbers in words ---- */

struct unit {
	double scale;
	const char *name;
};

static const struct unit byte_units[] = {
	{ 1.0 * (1LL << 40), "TiB" }, { 1.0 * (1 << 30), "GiB" }, { 1.0 * (1 << 20), "MiB" }, { 1.0 * (1 << 10), "KiB" }, { 1, "B" }
};
static const struct unit time_units[] = { { 3600e3, "h" }, { 60e3, "min" }, { 1e3, "s" }, { 1, "ms" } };

/* The largest unit of which there are at least two. */
static struct unit unit_for(double most, const struct unit *units, size_t count)
{
	for (size_t i = 0; i + 1 < count; i++)
		if (most >= 2 * units[i].scale)
			return units[i];
	return units[count - 1];
}

static struct unit unit_of(double most, bool bytes)
{
	return bytes ? unit_for(most, byte_units, COUNT_OF(byte_units)) : unit_for(most, time_units, COUNT_OF(time_units));
}

/* As short as can be without lying: 0.25, 1.5, 256. */
static void add_number(struct buf *out, double value)
{
	char text[64];
	int digits = value == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
	snprintf(text, sizeof text, "%.*f", digits, value);
	if (strchr(text, '.')) {
		size_t length = strlen(text);
		while (text[length - 1] == '0')
			text[--length] = '\0';
		if (text[length - 1] == '.')
			text[length - 1] = '\0';
	}
	buf_add_text(out, text);
}

static void add_amount(struct buf *out, double value, bool bytes)
{
	struct unit unit = unit_of(value * 2, bytes);
	add_number(out, value / unit.scale);
	buf_add_format(out, " %s", unit.name);
}

/* A step of ticks: about `wanted` of them up to `most`; in powers of two for bytes, for minutes and hours as clocks have them. */
static double step_for(double most, const struct unit *unit, bool bytes, int wanted)
{
	static const double decimal[] = { 1, 2, 5, 10 }, binary[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024 },
			    sixty[] = { 1, 2, 5, 10, 15, 30, 60 };
	double raw = most / unit->scale / wanted, base = 1;
	const double *steps = decimal;
	size_t count = COUNT_OF(decimal);
	if (bytes && raw >= 0.5) {
		steps = binary;
		count = COUNT_OF(binary);
	} else if (!bytes && unit->scale > 1e3 && raw >= 0.5) {
		steps = sixty;
		count = COUNT_OF(sixty);
	} else {
		while (raw < base && base > 1e-6)
			base /= 10;
		while (raw >= 10 * base)
			base *= 10;
	}
	for (size_t i = 0; i < count; i++)
		if (steps[i] * base >= raw)
			return steps[i] * base * unit->scale;
	return raw * unit->scale;
}

static void add_escaped(struct buf *out, const char *text)
{
	for (; *text; text++) {
		const char *entity = *text == '&'   ? "&amp;"
				     : *text == '<' ? "&lt;"
				     : *text == '>' ? "&gt;"
				     : *text == '"' ? "&quot;"
						    : NULL;
		if (entity)
			buf_add_text(out, entity);
		else
			buf_add(out, text, 1);
	}
}

/* ---- the picture ---- */

struct panel {
	const char *title, *name; /* name: of its class */
	enum stats_column value, limit;
	bool bytes;
	double top;
	double most; /* of the scale */
};

struct picture {
	const struct stats *stats;
	struct buf *out;
	double end_ms; /* of the scale */
};

static double x_of(const struct picture *p, double ms)
{
	return LEFT + ms / p->end_ms * PLOT_WIDTH;
}

static double y_of(const struct panel *panel, double value)
{
	return panel->top + PANEL - value / panel->most * PANEL;
}

static double peak_of(const struct stats *s, enum stats_column column)
{
	int64_t peak = 0;
	for (size_t i = 0; i < s->n; i++)
		peak = s->rows[i].v[column] > peak ? s->rows[i].v[column] : peak;
	return (double)peak;
}

static const struct stats_row *last_row(const struct stats *s)
{
	return &s->rows[s->n - 1];
}

static void add_ticks(const struct picture *p, const struct panel *panel, bool with_times)
{
	struct unit unit = unit_of(panel->most, panel->bytes);
	double step = step_for(panel->most, &unit, panel->bytes, 5);
	for (int i = 0; i * step <= panel->most * 1.0001; i++) {
		double at = i * step;
		double y = y_of(panel, at);
		buf_add_format(p->out,
			       "<line class=\"%s\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" "
			       "text-anchor=\"end\">",
			       at == 0 ? "axis" : "grid", LEFT, y, LEFT + PLOT_WIDTH, y, LEFT - 8, y + 4);
		add_number(p->out, at / unit.scale);
		buf_add_format(p->out, "%s%s</text>\n", at > 0 ? " " : "", at > 0 ? unit.name : "");
	}
	unit = unit_of(p->end_ms, false);
	step = step_for(p->end_ms, &unit, false, 8);
	for (int i = 0; i * step <= p->end_ms * 1.0001; i++) {
		double at = i * step;
		double x = x_of(p, at);
		buf_add_format(p->out, "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", x,
			       panel->top + PANEL, x, panel->top + PANEL + 4);
		if (with_times) {
			buf_add_format(p->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x, panel->top + PANEL + 20);
			add_number(p->out, at / unit.scale);
			buf_add_format(p->out, " %s</text>", unit.name);
		}
		buf_add_text(p->out, "\n");
	}
}

/* The line: as many points as can be told apart; of the rows that fall together the highest. */
static void add_points(const struct picture *p, const struct panel *panel)
{
	const struct stats *s = p->stats;
	size_t each = s->n / MOST_POINTS + 1;
	for (size_t i = 0; i < s->n; i += each) {
		size_t highest = i;
		for (size_t j = i; j < s->n && j < i + each; j++)
			if (s->rows[j].v[panel->value] > s->rows[highest].v[panel->value])
				highest = j;
		buf_add_format(p->out, "%.1f,%.1f ", x_of(p, (double)s->rows[highest].v[STATS_TIME]),
			       y_of(panel, (double)s->rows[highest].v[panel->value]));
	}
	buf_add_format(p->out, "%.1f,%.1f", x_of(p, (double)last_row(s)->v[STATS_TIME]),
		       y_of(panel, (double)last_row(s)->v[panel->value]));
}

static void add_line(const struct picture *p, const struct panel *panel)
{
	double from = x_of(p, (double)p->stats->rows[0].v[STATS_TIME]), to = x_of(p, (double)last_row(p->stats)->v[STATS_TIME]);
	buf_add_format(p->out, "<polygon class=\"%s-area\" points=\"%.1f,%.1f ", panel->name, from, panel->top + PANEL);
	add_points(p, panel);
	buf_add_format(p->out, " %.1f,%.1f\"/>\n<polyline class=\"line %s\" points=\"", to, panel->top + PANEL, panel->name);
	add_points(p, panel);
	buf_add_text(p->out, "\"/>\n");
}

static const struct stats_row *find_kill(const struct stats *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_starts(s->rows[i].event, "killed:"))
			return &s->rows[i];
	return NULL;
}

/* Where the upright line stands that add_ends() draws, or -1. */
static double upright_ms(const struct picture *p)
{
	int64_t timeout = last_row(p->stats)->v[STATS_TIME_LIMIT];
	const struct stats_row *kill = find_kill(p->stats);
	return kill ? (double)kill->v[STATS_TIME] : timeout != STATS_NONE && (double)timeout <= p->end_ms ? (double)timeout : -1;
}

/* Where the word for a limit ends: at the right edge, or before an upright line that would go through it. */
static double limit_text_end(const struct picture *p)
{
	enum { WORD = 110 };
	double right = LEFT + PLOT_WIDTH, ms = upright_ms(p), x = ms < 0 ? 0 : x_of(p, ms);
	return x > right - WORD ? x - 6 : right;
}

static void add_limit(const struct picture *p, const struct panel *panel)
{
	int64_t limit = last_row(p->stats)->v[panel->limit];
	bool shown = limit != STATS_NONE && (double)limit <= panel->most;
	double y = shown ? y_of(panel, (double)limit) : panel->top;
	if (shown)
		buf_add_format(p->out, "<line class=\"limit\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", LEFT, y,
			       LEFT + PLOT_WIDTH, y);
	buf_add_format(p->out, "<text class=\"limit-text\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", limit_text_end(p),
		       shown ? y - 6 : panel->top - 8);
	if (limit == STATS_NONE) {
		buf_add_text(p->out, "no limit");
	} else {
		buf_add_text(p->out, shown ? "limit " : "\xe2\x86\x91 limit ");
		add_amount(p->out, (double)limit, panel->bytes);
	}
	buf_add_text(p->out, "</text>\n");
}

/* Which panel a warning belongs to; those of the others stand at the foot of the upper one. */
static bool is_about(const char *event, const struct panel *panel)
{
	const char *limit = event + strlen("warning:");
	if (str_equal(limit, "maxCpuSeconds"))
		return panel->value == STATS_CPU;
	return panel->value == STATS_MEMORY;
}

static void add_warnings(const struct picture *p, const struct panel *panel)
{
	enum { MOST_MARKS = 100 };
	size_t marks = 0;
	for (size_t i = 0; i < p->stats->n && marks < MOST_MARKS; i++) {
		const struct stats_row *row = &p->stats->rows[i];
		if (!str_starts(row->event, "warning:") || !is_about(row->event, panel))
			continue;
		const char *limit = row->event + strlen("warning:");
		bool own = str_equal(limit, "maxCpuSeconds") || str_equal(limit, "maxMemoryMB");
		double y = y_of(panel, own ? (double)row->v[panel->value] : 0);
		buf_add_format(p->out, "<circle class=\"warning\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"><title>",
			       x_of(p, (double)row->v[STATS_TIME]), y);
		add_escaped(p->out, limit);
		buf_add_text(p->out, " is near</title></circle>\n");
		marks++;
	}
}

/* Upright lines through both panels, with a word at the top: to the left of the line where there is room. */
static void add_upright(const struct picture *p, double ms, const char *class, const char *text)
{
	double x = x_of(p, ms);
	bool left = x > LEFT + 180;
	buf_add_format(p->out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n", class, x, TOP, x,
		       TOP + 2 * PANEL + GAP);
	buf_add_format(p->out, "<text class=\"limit-text\" x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">", left ? x - 6 : x + 6,
		       TOP + PANEL + 36, left ? "end" : "start");
	add_escaped(p->out, text);
	buf_add_text(p->out, "</text>\n");
}

static void add_ends(const struct picture *p)
{
	int64_t timeout = last_row(p->stats)->v[STATS_TIME_LIMIT];
	const struct stats_row *kill = find_kill(p->stats);
	if (kill) {
		add_upright(p, (double)kill->v[STATS_TIME], "kill", kill->event);
	} else if (timeout != STATS_NONE && (double)timeout <= p->end_ms) {
		autoclean(buf_done) struct buf text = BUF_MAX(64);
		buf_add_text(&text, "timeout ");
		add_amount(&text, (double)timeout, false);
		add_upright(p, (double)timeout, "limit", buf_text(&text));
	}
}

static void add_legend(const struct picture *p)
{
	static const struct {
		const char *shape, *text;
		int width;
	} keys[] = {
		{ "<line class=\"line memory\" x1=\"0\" y1=\"-4\" x2=\"22\" y2=\"-4\"/>", "memory", 100 },
		{ "<line class=\"line cpu\" x1=\"0\" y1=\"-4\" x2=\"22\" y2=\"-4\"/>", "CPU time", 108 },
		{ "<line class=\"limit\" x1=\"0\" y1=\"-4\" x2=\"22\" y2=\"-4\"/>", "limit", 76 },
		{ "<line class=\"kill\" x1=\"11\" y1=\"-11\" x2=\"11\" y2=\"3\"/>", "ended by cordon", 146 },
		{ "<circle class=\"warning-key\" cx=\"11\" cy=\"-4\" r=\"5\"/>", "warning at 80 %", 120 },
	};
	int x = LEFT;
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		buf_add_format(p->out, "<g transform=\"translate(%d %d)\">%s<text x=\"30\" y=\"0\">%s</text></g>\n", x, HEIGHT - 16,
			       keys[i].shape, keys[i].text);
		x += keys[i].width;
	}
}

static void add_title(const struct picture *p, const char *name)
{
	const struct stats *s = p->stats;
	const struct stats_row *kill = find_kill(s), *last = last_row(s);
	char shown[256];
	const char *slash = strrchr(name, '/');
	name = slash && slash[1] ? slash + 1 : name;
	str_printable(name, strlen(name), shown, sizeof shown);
	buf_add_format(p->out, "<text class=\"title\" x=\"%d\" y=\"32\">", LEFT);
	add_escaped(p->out, shown);
	buf_add_format(p->out, "</text>\n<text x=\"%d\" y=\"52\">", LEFT);
	if (kill) {
		add_escaped(p->out, kill->event);
		buf_add_text(p->out, " \xc2\xb7 ");
	}
	add_amount(p->out, (double)last->v[STATS_TIME], false);
	buf_add_text(p->out, " \xc2\xb7 CPU ");
	add_amount(p->out, (double)last->v[STATS_CPU], false);
	buf_add_text(p->out, " \xc2\xb7 most memory seen ");
	add_amount(p->out, peak_of(s, STATS_MEMORY), true);
	buf_add_format(p->out, " \xc2\xb7 %.0f process%s</text>\n", peak_of(s, STATS_PROCESSES),
		       peak_of(s, STATS_PROCESSES) > 1 ? "es at most" : "");
}

static void scale(struct panel *panel, const struct stats *s)
{
	double peak = peak_of(s, panel->value);
	int64_t limit = last_row(s)->v[panel->limit];
	bool near = limit != STATS_NONE && (double)limit <= peak * FAR_LIMIT;
	double most = near && (double)limit > peak ? (double)limit : peak;
	panel->most = most > 0 ? most * 1.08 : panel->bytes ? 1 << 20 : 100;
}

static void draw(const struct stats *s, const char *name, struct buf *out)
{
	struct panel panels[] = {
		{ "Memory", "memory", STATS_MEMORY, STATS_MEMORY_LIMIT, true, TOP, 0 },
		{ "CPU time, all processes together", "cpu", STATS_CPU, STATS_CPU_LIMIT, false, TOP + PANEL + GAP, 0 },
	};
	int64_t end = last_row(s)->v[STATS_TIME], timeout = last_row(s)->v[STATS_TIME_LIMIT];
	bool near = timeout != STATS_NONE && timeout > end && timeout - end <= end / 4;
	struct picture p = { s, out, (double)(near ? timeout : end > 0 ? end : 1) * 1.01 };
	buf_add_format(out,
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n"
		       "<title>Memory and CPU time of a run</title>\n%s<rect class=\"bg\" width=\"%d\" height=\"%d\"/>\n",
		       WIDTH, HEIGHT, WIDTH, HEIGHT, style, WIDTH, HEIGHT);
	add_title(&p, name);
	for (size_t i = 0; i < COUNT_OF(panels); i++) {
		scale(&panels[i], s);
		buf_add_format(out, "<text class=\"panel\" x=\"%d\" y=\"%.1f\">%s</text>\n", LEFT, panels[i].top - 8,
			       panels[i].title);
		add_ticks(&p, &panels[i], i + 1 == COUNT_OF(panels));
		add_line(&p, &panels[i]);
		add_limit(&p, &panels[i]);
	}
	add_ends(&p);
	for (size_t i = 0; i < COUNT_OF(panels); i++)
		add_warnings(&p, &panels[i]);
	add_legend(&p);
	buf_add_text(out, "</svg>\n");
}

static int read_stats(const char *path, struct stats *ret, struct err *e)
{
	autoclean(buf_done) struct buf bytes = BUF_MAX(STATS_MAX_BYTES);
	int result = fd_read_file(path, &bytes);
	if (result < 0) {
		result = err_set(e, ERR_CONFIG, -result, "stats", "cannot read \"%s\"", path);
		return err_hint(e, result, "give a file that cordon run --stats wrote");
	}
	return stats_parse(buf_text(&bytes), bytes.size, path, ret, e);
}

int cmd_plot(struct args *a, const struct cli_host *host, struct err *e)
{
	(void)host;
	autoclean(stats_free) struct stats s = { 0 };
	autoclean(buf_done) struct buf out = BUF_MAX(4 << 20);
	TRY(read_stats(a->words[0], &s, e));
	draw(&s, a->words[0], &out);
	return print_out(&out, e);
}
