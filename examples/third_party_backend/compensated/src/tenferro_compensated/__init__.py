"""An engine for tenferro that adds float64 numbers with compensation; `tenferro_compensated.engine` has its class."""
