/* operation.h -- which operation of PyTorch's made a block. */
#ifndef MT_OPERATION_H
#define MT_OPERATION_H

#include "parser/model/trace.h"

/* The operation that the job's line called, "argsort", as the stack tells: of C++ frames the
 * outermost operator below the innermost Python frame, without its overload; else the function of
 * torch.nn.functional, torch or Tensor in which the Python frames end. Into buf; false = the stack
 * tells none. Libraries without symbols name an operator's neighbour now and then: for private
 * operators (a leading underscore) no name is given. */
bool mt_stack_operation(const struct mt_trace *t, mt_stack_id s, char *buf, size_t cap);
/* Whether an operation makes its tensor of no other one, as zeros and randn do. */
bool mt_operation_fills(const char *name);
bool mt_stack_fills(const struct mt_trace *t, mt_stack_id s); /* its operation does */

#endif
