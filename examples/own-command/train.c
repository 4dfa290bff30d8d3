/* Trains a network of two dense layers on MNIST: a program of somebody's own, which knows nothing of Nocturne.
 *
 *   ./train-O2 IMAGES LABELS [--batch N] [--rate R] [--steps N]
 *
 * IMAGES and LABELS are the uncompressed IDX files. Prints a line a step: "step 12: loss 0.4711, 3.21 ms". */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIXELS = 784, HIDDEN = 256, CLASSES = 10, LARGEST_BATCH = 4096 };

static float first[HIDDEN][PIXELS], first_gradient[HIDDEN][PIXELS];
static float second[CLASSES][HIDDEN], second_gradient[CLASSES][HIDDEN];
static float hidden[LARGEST_BATCH][HIDDEN], hidden_gradient[LARGEST_BATCH][HIDDEN];
static float error[LARGEST_BATCH][CLASSES];
static float images[LARGEST_BATCH][PIXELS];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned char *read_file(const char *path, size_t header, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) {
    fprintf(stderr, "train: cannot read %s\n", path);
    exit(2);
  }
  *bytes = (size_t)ftell(file) - header;
  unsigned char *data = malloc(*bytes);
  fseek(file, (long)header, SEEK_SET);
  if (!data || fread(data, 1, *bytes, file) != *bytes) exit(2);
  fclose(file);
  return data;
}

static float uniform(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / (float)(1 << 24) - 0.5f;
}

/* One step of stochastic gradient descent; returns the mean loss of the batch. */
static double step(const unsigned char *labels, int batch, float rate) {
  double loss = 0;
#pragma omp parallel for reduction(+ : loss)
  for (int n = 0; n < batch; ++n) {
    for (int h = 0; h < HIDDEN; ++h) {
      float sum = 0;
      for (int p = 0; p < PIXELS; ++p) sum += first[h][p] * images[n][p];
      hidden[n][h] = sum > 0 ? sum : 0;
    }
    float largest = -1e30f, total = 0;  /* no infinity: -ffast-math knows none */
    for (int c = 0; c < CLASSES; ++c) {
      error[n][c] = 0;
      for (int h = 0; h < HIDDEN; ++h) error[n][c] += second[c][h] * hidden[n][h];
      if (error[n][c] > largest) largest = error[n][c];
    }
    for (int c = 0; c < CLASSES; ++c) total += error[n][c] = expf(error[n][c] - largest);
    loss -= log(error[n][labels[n]] / total);
    for (int c = 0; c < CLASSES; ++c) error[n][c] = error[n][c] / total - (c == labels[n]);
    for (int h = 0; h < HIDDEN; ++h) {
      float sum = 0;
      for (int c = 0; c < CLASSES; ++c) sum += error[n][c] * second[c][h];
      hidden_gradient[n][h] = hidden[n][h] > 0 ? sum : 0;
    }
  }
#pragma omp parallel for
  for (int h = 0; h < HIDDEN; ++h) {
    memset(first_gradient[h], 0, sizeof first_gradient[h]);
    for (int n = 0; n < batch; ++n) {
      const float g = hidden_gradient[n][h];
      for (int p = 0; p < PIXELS; ++p) first_gradient[h][p] += g * images[n][p];
    }
    for (int p = 0; p < PIXELS; ++p) first[h][p] -= rate / (float)batch * first_gradient[h][p];
  }
  for (int c = 0; c < CLASSES; ++c) {
    for (int h = 0; h < HIDDEN; ++h) {
      second_gradient[c][h] = 0;
      for (int n = 0; n < batch; ++n) second_gradient[c][h] += error[n][c] * hidden[n][h];
      second[c][h] -= rate / (float)batch * second_gradient[c][h];
    }
  }
  return loss / batch;
}

int main(int argc, char **argv) {
  int batch = 128, steps = 469;
  float rate = 0.1f;
  for (int i = 3; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--batch")) batch = atoi(argv[i + 1]);
    if (!strcmp(argv[i], "--steps")) steps = atoi(argv[i + 1]);
    if (!strcmp(argv[i], "--rate")) rate = (float)atof(argv[i + 1]);
  }
  if (argc < 3 || batch < 1 || batch > LARGEST_BATCH) {
    fprintf(stderr, "use: train IMAGES LABELS [--batch N] [--rate R] [--steps N], N up to %d\n", LARGEST_BATCH);
    return 2;
  }
  size_t pixels, count;
  const unsigned char *pictures = read_file(argv[1], 16, &pixels), *labels = read_file(argv[2], 8, &count);
  if (pixels != count * PIXELS || count < (size_t)batch) return 2;
  unsigned state = 1;
  for (int h = 0; h < HIDDEN; ++h)
    for (int p = 0; p < PIXELS; ++p) first[h][p] = 0.1f * uniform(&state);
  for (int c = 0; c < CLASSES; ++c)
    for (int h = 0; h < HIDDEN; ++h) second[c][h] = 0.2f * uniform(&state);
  size_t begin = 0;
  for (int i = 0; i < steps; ++i) {
    const double start = now();
    if (begin + (size_t)batch > count) begin = 0;
    for (int n = 0; n < batch; ++n)
      for (int p = 0; p < PIXELS; ++p)
        images[n][p] = (float)pictures[(begin + (size_t)n) * PIXELS + (size_t)p] / 255.0f;
    const double loss = step(labels + begin, batch, rate);
    begin += (size_t)batch;
    printf("step %d: loss %.4f, %.3f ms\n", i, loss, 1e3 * (now() - start));
    fflush(stdout);
  }
  return 0;
}
