/* When we get our turn. */
#pragma once

/* Ask for short turns: whoever takes little at a time is let in at once when it wakes, also among many that do nothing but
 * compute (Linux 6.12; before that nothing changes). No privilege is needed. Children begin as if it had not been asked. */
void schedule_short_turns(void);
