/* What CUDA and CuPy's complex.cuh give to kernels, for a compiler of the host. */
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>

#define __device__
#define __forceinline__ inline

using std::complex;
using std::abs; using std::acos; using std::acosh; using std::arg; using std::asin; using std::asinh; using std::atan;
using std::atan2; using std::atanh; using std::cbrt; using std::ceil; using std::conj; using std::copysign; using std::cos;
using std::cosh; using std::erf; using std::erfc; using std::exp; using std::exp2; using std::expm1; using std::fabs;
using std::floor; using std::fma; using std::fmod; using std::hypot; using std::isfinite; using std::isinf; using std::isnan;
using std::lgamma; using std::log; using std::log10; using std::log1p; using std::log2; using std::pow; using std::rint;
using std::signbit; using std::sin; using std::sinh; using std::sqrt; using std::tan; using std::tanh; using std::trunc;

template <class T> bool isnan(complex<T> z) { return std::isnan(z.real()) || std::isnan(z.imag()); }
template <class T> bool isinf(complex<T> z) { return std::isinf(z.real()) || std::isinf(z.imag()); }
template <class T> bool isfinite(complex<T> z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }
