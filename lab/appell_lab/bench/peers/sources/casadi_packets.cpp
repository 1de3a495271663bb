// CasADi's generated C, compiled with a register of samples as its number: what a determined user could do.
#include <cmath>
#include <cstdlib>

#ifdef __AVX512F__
enum { WIDTH = 8 };
typedef double lanes __attribute__((vector_size(64)));
extern "C" lanes _ZGVeN8v_sin(lanes);
extern "C" lanes _ZGVeN8v_cos(lanes);
static inline lanes sines(lanes x) { return _ZGVeN8v_sin(x); }
static inline lanes cosines(lanes x) { return _ZGVeN8v_cos(x); }
#else
enum { WIDTH = 4 };
typedef double lanes __attribute__((vector_size(32)));
extern "C" lanes _ZGVdN4v_sin(lanes);
extern "C" lanes _ZGVdN4v_cos(lanes);
static inline lanes sines(lanes x) { return _ZGVdN4v_sin(x); }
static inline lanes cosines(lanes x) { return _ZGVdN4v_cos(x); }
#endif

struct packet
{
  lanes v;
  packet() = default;
  packet(double x) : v(lanes{} + x) {}
  packet(lanes x) : v(x) {}
  packet & operator+=(packet y) { v += y.v; return *this; }
  packet & operator-=(packet y) { v -= y.v; return *this; }
  packet & operator*=(packet y) { v *= y.v; return *this; }
  packet & operator/=(packet y) { v /= y.v; return *this; }
};
static inline packet operator+(packet x, packet y) { return x.v + y.v; }
static inline packet operator-(packet x, packet y) { return x.v - y.v; }
static inline packet operator*(packet x, packet y) { return x.v * y.v; }
static inline packet operator/(packet x, packet y) { return x.v / y.v; }
static inline packet operator-(packet x) { return -x.v; }
static inline packet sin(packet x) { return sines(x.v); }
static inline packet cos(packet x) { return cosines(x.v); }
static inline packet sqrt(packet x)
{
  for (int i = 0; i < WIDTH; ++i) x.v[i] = std::sqrt(x.v[i]);
  return x;
}

#define casadi_real packet
#include KERNEL

static long nonzeros(long k)
{
  const casadi_int * s = kernel_sparsity_out(k);
  return s[2] == 1 ? s[0] * s[1] : s[2 + s[1]];
}

static void gather(const double * rows, long width, long first, long last, packet * to)
{
  for (long j = 0; j < width; ++j)
    for (int i = 0; i < WIDTH; ++i) {
      const long k = first + i < last ? first + i : last;
      to[j].v[i] = rows[k * width + j];
    }
}

static void scatter(const packet * from, long width, long first, long last, double * rows)
{
  for (int i = 0; i < WIDTH && first + i <= last; ++i)
    for (long j = 0; j < width; ++j) rows[(first + i) * width + j] = from[j].v[i];
}

extern "C" const long long * pattern(long k)
{
  return k < kernel_n_out() ? kernel_sparsity_out(k) : 0;
}

extern "C" void batch(long n, const double * q, const double * v, const double * a, double * r0, double * r1, double * r2)
{
  casadi_int sz_arg, sz_res, sz_iw, sz_w;
  kernel_work(&sz_arg, &sz_res, &sz_iw, &sz_w);
  const long sizes[3] = {(long)kernel_sparsity_in(0)[0], (long)kernel_sparsity_in(1)[0], (long)kernel_sparsity_in(2)[0]};
  const double * given[3] = {q, v, a};
  double * wanted[3] = {r0, r1, r2};
  const long outputs = kernel_n_out();
  const packet ** arg = (const packet **)calloc(sz_arg + 3, sizeof(packet *));
  packet ** res = (packet **)calloc(sz_res + 3, sizeof(packet *));
  casadi_int * iw = (casadi_int *)calloc(sz_iw + 1, sizeof(casadi_int));
  packet * w = (packet *)aligned_alloc(64, (sz_w + 1) * 64);
  for (int k = 0; k < 3; ++k) arg[k] = (packet *)aligned_alloc(64, (sizes[k] + 1) * 64);
  for (long k = 0; k < outputs; ++k) res[k] = (packet *)aligned_alloc(64, (nonzeros(k) + 1) * 64);
  for (long first = 0; first < n; first += WIDTH) {
    for (int k = 0; k < 3; ++k) gather(given[k], sizes[k], first, n - 1, (packet *)arg[k]);
    kernel(arg, res, iw, w, 0);
    for (long k = 0; k < outputs; ++k) scatter(res[k], nonzeros(k), first, n - 1, wanted[k]);
  }
  for (int k = 0; k < 3; ++k) free((void *)arg[k]);
  for (long k = 0; k < outputs; ++k) free(res[k]);
  free(arg);
  free(res);
  free(iw);
  free(w);
}
