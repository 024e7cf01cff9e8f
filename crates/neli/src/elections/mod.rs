//! Elections beside NELI, one module each: cores without input, output, clock or chance.

pub mod etcd;
