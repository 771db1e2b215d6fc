//! What the allocator is told. Where another one than mimalloc is in use it does nothing.

/// The option `purge_delay`, for which the library has no name: so many milliseconds the allocator keeps what is free.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Has the allocator keep nothing that is free.
#[allow(unsafe_code)]
pub(crate) fn keep_nothing() {
    // SAFETY: it only sets a number, which each thread reads when it frees something.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) }
}

/// Gives back to the system what is free of this thread's memory.
#[allow(unsafe_code)]
pub(crate) fn give_back() {
    // SAFETY: it can be called at any time, from any thread.
    unsafe { libmimalloc_sys::mi_collect(true) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code)]
    fn the_option_is_the_one_that_is_meant() {
        // SAFETY: it only reads a number.
        let get = || unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        let before = get();
        keep_nothing();
        assert!(before > 0, "{before}");
        assert_eq!(get(), 0);
    }
}
