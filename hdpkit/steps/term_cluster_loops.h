/* Loops over the numbers of terms and documents, included once for each instruction set (`term_clusters.h`), in a namespace
   of its own with functions of HDPKIT_TARGET. Each lane is a sum in a fixed order, so that all give the same bits. */

/* out = sum over the entries of a row of weight x (row of `from`). */
HDPKIT_TARGET void weighted_sum(const int32_t *which, const float *weight, int64_t n, const float *from, float *out) {
    float sum[RANK] = {};
    for (int64_t e = 0; e < n; e++) {
        const float *row = from + (int64_t)which[e] * RANK;
        const float w = weight[e];
        for (int j = 0; j < RANK; j++) sum[j] += w * row[j];
    }
    for (int j = 0; j < RANK; j++) out[j] = sum[j];
}

/* Add the products of all pairs of coordinates, summed over rows. */
HDPKIT_TARGET void add_products(const float *rows, int64_t n, double *products) {
    for (int64_t r = 0; r < n; r++) {
        const float *row = rows + r * RANK;
        double wide[RANK];
        for (int j = 0; j < RANK; j++) wide[j] = row[j];
        for (int i = 0; i < RANK; i++) {
            const double x = wide[i];
            double *to = products + i * RANK;
            for (int j = 0; j < RANK; j++) to[j] += x * wide[j];
        }
    }
}

/* Replace rows by their products with a matrix, of which only columns from the row's number on aren't 0. */
HDPKIT_TARGET void transform(float *rows, int64_t n, const float *matrix) {
    for (int64_t r = 0; r < n; r++) {
        float *row = rows + r * RANK, out[RANK] = {};
        for (int i = 0; i < RANK; i++) {
            const float x = row[i], *by = matrix + i * RANK;
            for (int j = 0; j < RANK; j++) out[j] += x * by[j];
        }
        for (int j = 0; j < RANK; j++) row[j] = out[j];
    }
}

/* The centre with the largest product with each of some points, the first of equal ones. `centres` has blocks of WIDE
   centres: coordinate by coordinate, the numbers of all centres of the block. */
HDPKIT_TARGET void nearest(const float *points, int64_t n, const float *centres, int32_t n_centres, int32_t *label) {
    const int32_t blocks = (n_centres + WIDE - 1) / WIDE;
    for (int64_t first = 0; first < n; first += TOGETHER) {
        const int64_t here = n - first < TOGETHER ? n - first : TOGETHER;
        const float *p[TOGETHER];
        float best[TOGETHER][WIDE];
        int32_t which[TOGETHER][WIDE];
        for (int t = 0; t < TOGETHER; t++) {
            p[t] = points + (first + (t < here ? t : 0)) * RANK;
            for (int c = 0; c < WIDE; c++) {
                best[t][c] = -FLT_MAX;
                which[t][c] = 0;
            }
        }
        for (int32_t b = 0; b < blocks; b++) {
            const float *block = centres + (int64_t)b * RANK * WIDE;
            wide s0 = {}, s1 = {}, s2 = {}, s3 = {};
            for (int j = 0; j < RANK; j++) {
                wide c;
                memcpy(&c, block + j * WIDE, sizeof c);
                s0 += p[0][j] * c;
                s1 += p[1][j] * c;
                s2 += p[2][j] * c;
                s3 += p[3][j] * c;
            }
            float sums[TOGETHER][WIDE];
            memcpy(sums[0], &s0, sizeof s0);
            memcpy(sums[1], &s1, sizeof s1);
            memcpy(sums[2], &s2, sizeof s2);
            memcpy(sums[3], &s3, sizeof s3);
            const int32_t real = n_centres - b * WIDE < WIDE ? n_centres - b * WIDE : WIDE;
            for (int t = 0; t < TOGETHER; t++)
                for (int c = 0; c < WIDE; c++) {
                    const bool more = (sums[t][c] > best[t][c]) & (c < real);
                    best[t][c] = more ? sums[t][c] : best[t][c];
                    which[t][c] = more ? b : which[t][c];
                }
        }
        for (int t = 0; t < here; t++) {
            int32_t found = which[t][0] * WIDE;
            float most = best[t][0];
            for (int c = 1; c < WIDE; c++) {
                const int32_t k = which[t][c] * WIDE + c;
                if (best[t][c] > most || (best[t][c] == most && k < found)) {
                    most = best[t][c];
                    found = k;
                }
            }
            label[first + t] = found < n_centres ? found : n_centres - 1;
        }
    }
}
